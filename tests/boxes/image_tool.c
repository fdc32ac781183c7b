/* The one program of a test image: a few commands in one static binary, which needs no libc, no shell and no /etc.
 * Usage: tool verb arg... , verb arg... , ...     Each command prints its result, or "verb: why not". */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int list(const char *path) {
    struct dirent **found;
    int count = scandir(path, &found, NULL, by_name);
    if (count < 0) return -1;
    for (int i = 0; i < count; i++)
        if (strcmp(found[i]->d_name, ".") && strcmp(found[i]->d_name, "..")) printf("%s ", found[i]->d_name);
    printf("\n");
    return 0;
}

static int show(const char *path) {
    char buffer[65536];
    int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    ssize_t size = read(file, buffer, sizeof buffer);
    close(file);
    if (size < 0) return -1;
    printf("%.*s", (int)size, buffer);
    return 0;
}

static int put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return -1;
    ssize_t size = write(file, text, strlen(text));
    return close(file) || size < 0 ? -1 : 0;
}

static int facts(const char *path) {
    struct stat found;
    if (lstat(path, &found)) return -1;
    printf("%o %u:%u\n", found.st_mode & 07777, found.st_uid, found.st_gid);
    return 0;
}

static int dial(const char *ip, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    inet_pton(AF_INET, ip, &address.sin_addr);
    int dialling = socket(AF_INET, SOCK_STREAM, 0);
    int result = connect(dialling, (struct sockaddr *)&address, sizeof address);
    close(dialling);
    return result;
}

static int variable(const char *name) {
    const char *value = getenv(name);
    printf("%s\n", value ? value : "(none)");
    return 0;
}

static int ids(void) { return printf("%u:%u\n", geteuid(), getegid()) < 0; }

static int until_told(void) {
    char byte;
    while (read(0, &byte, 1) == 1 && byte != '\n') continue;
    return 0;
}

static int run(int count, char **words) {
    const char *verb = words[0], *first = count > 1 ? words[1] : "", *second = count > 2 ? words[2] : "";
    if (!strcmp(verb, "ids")) return ids();
    if (!strcmp(verb, "say")) return printf("%s\n", first) < 0;
    if (!strcmp(verb, "list")) return list(first);
    if (!strcmp(verb, "show")) return show(first);
    if (!strcmp(verb, "put")) return put(first, second);
    if (!strcmp(verb, "facts")) return facts(first);
    if (!strcmp(verb, "remove")) return remove(first);
    if (!strcmp(verb, "move")) return rename(first, second);
    if (!strcmp(verb, "folder")) return mkdir(first, 0755);
    if (!strcmp(verb, "link")) return symlink(first, second);
    if (!strcmp(verb, "mode")) return chmod(first, strtol(second, NULL, 8));
    if (!strcmp(verb, "env")) return variable(first);
    if (!strcmp(verb, "dial")) return dial(first, second);
    if (!strcmp(verb, "wait")) return until_told();
    errno = ENOSYS;
    return -1;
}

int main(int count, char **words) {
    for (int start = 1, end; start < count; start = end + 1) {
        for (end = start; end < count && strcmp(words[end], ","); end++) continue;
        if (run(end - start, words + start)) printf("%s: %s\n", words[start], strerror(errno));
        fflush(stdout);
    }
    return 0;
}
