// See the header.  chromium prints the document after its scripts, and its console to stderr.
#include "tests/browser.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"

#define BROWSER "/usr/bin/chromium"

bool browser_is_there(void) { return access(BROWSER, X_OK) == 0; }

// An endless stream keeps virtual time from passing, so that pages with one are looked at after some real seconds.
static void start(const char *dir, const char *url, int width) {
    bool live = strncmp(url, "http:", 5) == 0;
    char size[64], data[96], out[96], err[96];
    snprintf(size, sizeof size, "--window-size=%d,2000", width);
    snprintf(data, sizeof data, "--user-data-dir=%s/profile", dir);
    snprintf(out, sizeof out, "%s/dom", dir);
    snprintf(err, sizeof err, "%s/console", dir);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        execl(BROWSER, BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
              "--disable-dev-shm-usage", "--no-first-run", "--enable-logging=stderr",
              live ? "--timeout=15000" : "--virtual-time-budget=3000", size, data, "--dump-dom",
              url, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

// Lines of the page's own console alone; chromium complains of much else on a machine without a screen.
static void keep_errors(const char *console, BrowserPage *page) {
    page->errors[0] = '\0';
    for (const char *at = strstr(console, ":CONSOLE"); at; at = strstr(at + 1, ":CONSOLE")) {
        size_t used = strlen(page->errors);
        snprintf(page->errors + used, sizeof page->errors - used, "%.*s\n", (int)strcspn(at, "\n"),
                 at);
    }
}

void browser_open(BrowserPage *page, const char *url, int width) {
    char dir[64], path[96], *console;
    size_t n;
    temp_dir_make(dir);
    start(dir, url, width);
    snprintf(path, sizeof path, "%s/dom", dir);
    CHECK_OK(sr_file_read(path, 1 << 26, &page->dom, &n));
    CHECK(n > 100);
    snprintf(path, sizeof path, "%s/console", dir);
    CHECK_OK(sr_file_read(path, 1 << 24, &console, &n));
    keep_errors(console, page);
    sr_free(console);
    temp_dir_remove(dir);
}

void browser_close(BrowserPage *page) {
    sr_free(page->dom);
    page->dom = NULL;
}
