// SPDX-License-Identifier: GPL-2.0-or-later
/* Read each line of standard input with the function of Slurm's library that reads texts of a kind, and print what it
 * finds in one line, "refused" if it refuses the text. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *hostlist_create(const char *);
extern int hostlist_count(void *);
extern char *hostlist_shift(void *);
extern void hostlist_destroy(void *);
extern int time_str2secs(const char *);
extern uint64_t str_to_mbytes(const char *);

/* Since 23.02. */
static int (*next_tres)(char **, char *, char **, char **, uint64_t *, char **);

static void nodes(const char *text)
{
    void *list = hostlist_create(text);
    if (!list) {
        printf("refused");
        return;
    }
    if (hostlist_count(list) > 65536)
        printf("many");
    else
        for (char *name; (name = hostlist_shift(list)); free(name))
            printf("%s,", name);
    hostlist_destroy(list);
}

static void tres(char *text)
{
    char *kinds[] = {"gres", "license"};
    for (int i = 0; i < 2; i++) {
        char *name = NULL, *type = NULL, *save = NULL, *in = text;
        uint64_t count = 0;
        int rc;
        while (!(rc = next_tres(&kinds[i], in, &name, &type, &count, &save)) && save) {
            printf("%s/%s|%s|%llu\x1f", kinds[i], name ? name : "", type ? type : "", (unsigned long long)count);
            in = NULL;
        }
        printf(rc ? "refused\x1f" : "");
    }
}

static void number(long long value, long long refused)
{
    if (value == refused)
        printf("refused");
    else
        printf("%lld", value);
}

int main(int argc, char **argv)
{
    static char line[65536];
    const char *kind = argc > 1 ? argv[1] : "";
    *(void **)&next_tres = dlsym(RTLD_DEFAULT, "slurm_get_next_tres");
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strcmp(kind, "nodes"))
            nodes(line);
        else if (!strcmp(kind, "tres"))
            tres(line);
        else if (!strcmp(kind, "times"))
            number(time_str2secs(line), -2);
        else if (!strcmp(kind, "memory"))
            number((long long)str_to_mbytes(line), -2);
        else
            return 2;
        printf("\n");
    }
    return 0;
}
