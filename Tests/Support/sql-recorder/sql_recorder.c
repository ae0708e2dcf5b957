// A preloaded library that records the SQL statements of a test process. Writes every statement that SQLite has
// accepted to a file per process in the folder $SQL_RECORD, each terminated by a zero byte. It does nothing in other
// programs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int descriptor = -1;

static int is_test(void) {
  static int known = -1;
  if (known < 0) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    known = strstr(path, ".xctest") != NULL;
  }
  return known;
}

static void record(const char *text, const char *end) {
  const char *folder = getenv("SQL_RECORD");
  if (folder == NULL || text == NULL || !is_test()) return;
  size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
  pthread_mutex_lock(&lock);
  if (descriptor < 0) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.sql", folder, (int)getpid());
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  if (descriptor >= 0 && (write(descriptor, text, length) < 0 || write(descriptor, "", 1) < 0)) descriptor = -2;
  pthread_mutex_unlock(&lock);
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int count, unsigned flags, sqlite3_stmt **made, const char **tail) {
  static int (*next)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **);
  const char *end = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
  int code = next(db, sql, count, flags, made, &end);
  if (tail != NULL) *tail = end;
  if (code == 0) record(sql, end);
  return code;
}

int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int count, sqlite3_stmt **made, const char **tail) {
  static int (*next)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
  const char *end = NULL;
  if (next == NULL) next = dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
  int code = next(db, sql, count, made, &end);
  if (tail != NULL) *tail = end;
  if (code == 0) record(sql, end);
  return code;
}
