/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/output.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/channel.h"

#define AT_ONCE 1000
#define EACH_SECOND 50
/* Handlers may log a few lines for each request, and there may be many hundred requests a second. */
#define MARKED_AT_ONCE 10000
#define MARKED_EACH_SECOND 1000
/* Before the level of a line of slurmhooks.log: no text of a user has this byte, because C strings end with it. */
#define MARK '\0'
/* Begins each other line: a handler may print a text of a user, whose lines must not look like records of the log. */
#define PRINTED "| "
/* A line counts once more for each so many bytes: long lines would fill the log faster. */
#define BYTES_OF_A_LINE 256
/* Bytes that one call reads: the caller also has to read the control socket. */
#define READ_MAX (1 << 20)

void lines_start(struct lines *lines, int fd, void (*log)(enum slurmhooks_level level, const char *line))
{
    memset(lines, 0, offsetof(struct lines, read));
    pthread_mutex_init(&lines->lock, NULL);
    lines->fd = fd;
    lines->log = log;
    lines->marked =
        (struct allowance){MARKED_AT_ONCE, MARKED_EACH_SECOND, .refilled = channel_now(), .left = MARKED_AT_ONCE};
    lines->unmarked = (struct allowance){AT_ONCE, EACH_SECOND, .refilled = channel_now(), .left = AT_ONCE};
}

static void report_dropped(struct lines *lines, struct allowance *allowance)
{
    char text[160];

    if (!allowance->dropped)
        return;
    snprintf(text, sizeof(text),
             "%u lines of workers were dropped: the limit is %u at once and %u per second, of %u bytes each",
             allowance->dropped, allowance->at_once, allowance->each_second, BYTES_OF_A_LINE);
    allowance->dropped = 0;
    lines->log(SLURMHOOKS_ERROR, text);
}

/* RET whether one more line of a size may be logged. Counts it, or counts it as dropped. */
static bool is_allowed(struct lines *lines, struct allowance *allowance, size_t size)
{
    unsigned cost = 1 + (unsigned)(size / BYTES_OF_A_LINE);
    int64_t now = channel_now(), seconds = (now - allowance->refilled) / 1000000000;

    if (seconds > 0) {
        int64_t left = allowance->left + seconds * allowance->each_second;
        allowance->left = left > allowance->at_once ? allowance->at_once : (unsigned)left;
        allowance->refilled = now;
        report_dropped(lines, allowance);
    }
    if (allowance->left >= cost) {
        allowance->left -= cost;
        return true;
    }
    allowance->dropped++;
    return false;
}

/* RET the size of the character at the start of a text; 0: these bytes are not UTF-8 */
static size_t character_size(const unsigned char *text)
{
    unsigned char first = text[0];
    size_t size = 1 + (first >= 0xc2) + (first >= 0xe0) + (first >= 0xf0);

    if ((first >= 0x80 && first < 0xc2) || first > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* Longer than necessary, half of a surrogate pair, or beyond U+10FFFF. */
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) || (first == 0xf0 && text[1] < 0x90) ||
        (first == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

/*
 * RET how many bytes at the start of a UTF-8 text are a character that acts on a terminal instead of being shown there:
 * a control character, or one that changes lines or the direction of text
 */
static size_t control_size(const unsigned char *text)
{
    if (text[0] < ' ' || text[0] == 0x7f)
        return 1;
    if ((text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f) || (text[0] == 0xd8 && text[1] == 0x9c))
        return 2; /* U+0080 to U+009F, U+061C */
    if (text[0] == 0xe2 && text[1] == 0x80 &&
        ((text[2] >= 0x8b && text[2] <= 0x8f) || (text[2] >= 0xa8 && text[2] <= 0xae)))
        return 3; /* U+200B to U+200F, U+2028 to U+202E */
    if (text[0] == 0xe2 && text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9)
        return 3; /* U+2066 to U+2069 */
    return 0;
}

/*
 * Replace characters that could change the terminal of whoever reads the log, or begin a new line there, and bytes that
 * are not UTF-8: some terminals act on a single byte 0x9b.
 */
static void replace_controls(char *text)
{
    while (*text) {
        size_t whole = character_size((const unsigned char *)text);
        size_t replaced = whole ? control_size((const unsigned char *)text) : 1;
        memset(text, *text == '\t' ? ' ' : '?', replaced);
        text += replaced ? replaced : whole;
    }
}

/* Log the unfinished line, with its level if it has one, and begin a new one. */
static void finish_line(struct lines *lines)
{
    char *text = lines->line, printed[sizeof(PRINTED) + UNMARKED_MAX_BYTES];
    enum slurmhooks_level level = SLURMHOOKS_INFO;
    struct allowance *allowance = &lines->unmarked;

    text[lines->length] = '\0';
    if (lines->length > 1 && text[0] == MARK && text[1] >= '0' && text[1] <= '9') {
        level = (enum slurmhooks_level)(text[1] - '0');
        if (level > SLURMHOOKS_DEBUG3)
            level = SLURMHOOKS_DEBUG3;
        allowance = &lines->marked;
        text += 2;
    } else if (lines->length) {
        size_t size = lines->length;
        if (text[0] == MARK)
            text[0] = '?';
        if (size > UNMARKED_MAX_BYTES) {
            size = UNMARKED_MAX_BYTES;
            memcpy(text + size - 3, "...", 3);
        }
        memcpy(printed, PRINTED, sizeof(PRINTED) - 1);
        memcpy(printed + sizeof(PRINTED) - 1, text, size);
        printed[sizeof(PRINTED) - 1 + size] = '\0';
        text = printed;
    }
    replace_controls(text);
    if (*text && is_allowed(lines, allowance, strlen(text)))
        lines->log(level, text);
    lines->length = 0;
    lines->overlong = false;
}

/* Add bytes to the unfinished line; log each line that they complete. */
static void add_bytes(struct lines *lines, const char *data, size_t size)
{
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t part_length = end ? (size_t)(end - data) : size;
        size_t room = LINE_MAX_BYTES - lines->length, copied = part_length < room ? part_length : room;

        for (size_t i = 0; i < copied; i++)
            lines->line[lines->length + i] = (char)(data[i] || lines->length + i == 0 ? data[i] : '?');
        lines->length += (unsigned)copied;
        if (copied < part_length && !lines->overlong) {
            lines->overlong = true;
            memcpy(lines->line + LINE_MAX_BYTES - 3, "...", 3);
        }
        if (!end)
            return;
        finish_line(lines);
        data += part_length + 1;
        size -= part_length + 1;
    }
}

void lines_read(struct lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    for (int left = READ_MAX / (int)sizeof(lines->read); left > 0; left--) {
        ssize_t size = read(lines->fd, lines->read, sizeof(lines->read));
        if (size <= 0)
            break;
        add_bytes(lines, lines->read, (size_t)size);
    }
    pthread_mutex_unlock(&lines->lock);
}

bool lines_pending(struct lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    bool pending = lines->length || lines->marked.dropped || lines->unmarked.dropped;
    pthread_mutex_unlock(&lines->lock);
    return pending;
}

void lines_flush(struct lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    if (lines->length)
        finish_line(lines);
    report_dropped(lines, &lines->marked);
    report_dropped(lines, &lines->unmarked);
    pthread_mutex_unlock(&lines->lock);
}
