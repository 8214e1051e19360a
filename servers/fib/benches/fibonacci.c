// The function of the fib scenario in C. `fibonacci N` prints the CPU nanoseconds one call took, and
// its value.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t fibonacci(uint64_t n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv) {
    volatile uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 31;
    int64_t start = cpu_ns();
    uint64_t value = fibonacci(n);
    printf("%" PRId64 " %" PRIu64 "\n", cpu_ns() - start, value);
    return 0;
}
