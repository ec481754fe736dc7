/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/inputs.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

/* file INODE SIZE MTIME_NS PATH: the file is unchanged if these are. */
int input_file(const struct record *record)
{
    uint64_t inode, size, mtime;
    struct stat status;

    if (record->count != 5 || record_number(record->words[1], UINT64_MAX, &inode) ||
        record_number(record->words[2], UINT64_MAX, &size) || record_number(record->words[3], UINT64_MAX, &mtime))
        return -1;
    if (stat(record->words[4], &status))
        return 1;
    uint64_t mtime_now = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return status.st_ino != inode || (uint64_t)status.st_size != size || mtime_now != mtime;
}

/* absent PATH: the file must still not exist. */
int input_absent(const struct record *record)
{
    struct stat status;

    if (record->count != 2)
        return -1;
    return stat(record->words[1], &status) == 0;
}

/*
 * RET how many entries of a folder match START*END by the rules of slurmhooks/files/paths.py (hidden files never
 * match); -1 on error.
 */
static int64_t count_entries(const char *folder, const char *start, const char *end)
{
    DIR *directory = opendir(folder);
    size_t start_length = strlen(start), end_length = strlen(end);
    int64_t count = 0;

    if (!directory)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length >= start_length + end_length &&
            !strncmp(entry->d_name, start, start_length) && !strcmp(entry->d_name + length - end_length, end))
            count++;
    }
    closedir(directory);
    return count;
}

/*
 * glob INODE SIZE MTIME_NS COUNT FOLDER START END: START*END must match the same files in the folder as before.
 *
 * This holds if the folder is unchanged. It also holds if the number of matching entries is unchanged, since each file
 * that matched before has its own record and must still exist.
 */
int input_glob(const struct record *record)
{
    uint64_t inode, size, mtime, count;
    struct stat status;

    if (record->count != 8 || record_number(record->words[1], UINT64_MAX, &inode) ||
        record_number(record->words[2], UINT64_MAX, &size) || record_number(record->words[3], UINT64_MAX, &mtime) ||
        record_number(record->words[4], INT32_MAX, &count))
        return -1;
    if (stat(record->words[5], &status) || status.st_ino != inode)
        return 1;
    uint64_t mtime_now = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    if ((uint64_t)status.st_size == size && mtime_now == mtime)
        return 0;
    return count_entries(record->words[5], record->words[6], record->words[7]) != (int64_t)count;
}
