/* DPDK's IPv4 lookups, measured on request: the C half of the peers benchmark.
 * Arguments: DIRECTORY huge|small. The directory holds routes, updates, and one
 * file per stream, as files.go writes them. Each line on standard input is a
 * request and each line on standard output its answer; process.go lists them. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_lpm.h>

#define MAX_BATCH 1024
#define TBL8_GROUPS 4096

struct route {
	uint32_t addr;
	uint16_t next_hop;
	uint16_t length;
};

static const char *directory;
static struct route *routes, *updates;
static size_t route_count, update_count;
static struct rte_lpm *lpm;
static struct rte_fib *fib;

static void fail(const char *what, const char *why)
{
	printf("error %s: %s\n", what, why);
	exit(1);
}

/* map_file shows a file, so that all processes read the same memory. */
static void *map_file(const char *name, size_t *size)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof path, "%s/%s", directory, name);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		fail(path, strerror(errno));
	void *content = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (content == MAP_FAILED)
		fail(path, strerror(errno));
	close(fd);
	*size = st.st_size;
	return content;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* fill_lpm paints the tables of rte_lpm by itself, from short prefixes to long
 * ones: rte_lpm_add searches its rules one by one and takes minutes. */
static void fill_lpm(void)
{
	struct rte_lpm_config config = { .max_rules = 1, .number_tbl8s = TBL8_GROUPS };
	uint32_t groups = 0;
	lpm = rte_lpm_create("peer", SOCKET_ID_ANY, &config);
	if (lpm == NULL)
		fail("rte_lpm_create", rte_strerror(rte_errno));
	for (unsigned length = 1; length <= 32; length++) {
		for (const struct route *r = routes; r < routes + route_count; r++) {
			if (r->length != length)
				continue;
			struct rte_lpm_tbl_entry e = { .next_hop = r->next_hop, .valid = 1, .depth = length };
			struct rte_lpm_tbl_entry *slot = &lpm->tbl24[r->addr >> 8];
			if (length <= 24) {
				for (uint32_t i = 0; i < 1u << (24 - length); i++)
					slot[i] = e;
				continue;
			}
			if (!slot->valid_group) {
				if (groups == TBL8_GROUPS)
					fail("rte_lpm", "too few tbl8 groups");
				for (unsigned i = 0; i < 256; i++) {
					lpm->tbl8[groups * 256 + i] = *slot;
					lpm->tbl8[groups * 256 + i].valid_group = 1;
				}
				*slot = (struct rte_lpm_tbl_entry){ .next_hop = groups++, .valid = 1, .valid_group = 1 };
			}
			e.valid_group = 1;
			for (uint32_t i = 0; i < 1u << (32 - length); i++)
				lpm->tbl8[slot->next_hop * 256 + (r->addr & 0xff) + i] = e;
		}
	}
}

static uint64_t fill_fib(void)
{
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = 0,
		.max_routes = route_count + route_count / 8,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_2B, .num_tbl8 = TBL8_GROUPS },
	};
	fib = rte_fib_create("peer", SOCKET_ID_ANY, &config);
	if (fib == NULL)
		fail("rte_fib_create", rte_strerror(rte_errno));
	uint64_t begin = cpu_ns();
	for (const struct route *r = routes; r < routes + route_count; r++)
		if (rte_fib_add(fib, r->addr, r->length, r->next_hop) != 0)
			fail("rte_fib_add", "refused");
	return cpu_ns() - begin;
}

static uint64_t lpm_pass(uint32_t *ips, size_t n, unsigned batch, int add)
{
	uint32_t hops[MAX_BATCH];
	uint64_t sum = 0;
	for (size_t at = 0; at < n; at += batch) {
		rte_lpm_lookup_bulk(lpm, ips + at, hops, batch);
		__asm__ volatile("" : : "r"(hops) : "memory");
		for (unsigned i = 0; add && i < batch; i++)
			sum += hops[i] & RTE_LPM_LOOKUP_SUCCESS ? hops[i] & 0xffffff : 0;
	}
	return sum;
}

/* lpm_x4_pass stores 32-bit next hops and 0 for a miss. */
static uint64_t lpm_x4_pass(uint32_t *ips, size_t n, unsigned batch, int add)
{
	uint32_t hops[MAX_BATCH];
	uint64_t sum = 0;
	for (size_t at = 0; at < n; at += batch) {
		for (unsigned i = 0; i < batch; i += 4)
			rte_lpm_lookupx4(lpm, _mm_loadu_si128((const __m128i *)(ips + at + i)), hops + i, 0);
		__asm__ volatile("" : : "r"(hops) : "memory");
		for (unsigned i = 0; add && i < batch; i++)
			sum += hops[i];
	}
	return sum;
}

static uint64_t fib_pass(uint32_t *ips, size_t n, unsigned batch, int add)
{
	uint64_t hops[MAX_BATCH];
	uint64_t sum = 0;
	for (size_t at = 0; at < n; at += batch) {
		rte_fib_lookup_bulk(fib, ips + at, hops, batch);
		__asm__ volatile("" : : "r"(hops) : "memory");
		for (unsigned i = 0; add && i < batch; i++)
			sum += hops[i];
	}
	return sum;
}

static struct {
	const char *name;
	uint64_t (*pass)(uint32_t *, size_t, unsigned, int);
	int select; /* of rte_fib, -1 for none */
} kinds[] = {
	{ "rte_lpm-bulk", lpm_pass, -1 },
	{ "rte_lpm-x4", lpm_x4_pass, -1 },
	{ "rte_fib-scalar", fib_pass, RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO },
	{ "rte_fib-avx512", fib_pass, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512 },
};

static struct {
	char name[32];
	uint32_t *ips;
	size_t n;
} streams[16];

static void lookup(const char *kind, const char *stream, unsigned batch, unsigned passes)
{
	size_t s = 0, k = 0;
	while (streams[s].ips != NULL && strcmp(streams[s].name, stream) != 0)
		s++;
	if (streams[s].ips == NULL) {
		snprintf(streams[s].name, sizeof streams[s].name, "%s", stream);
		streams[s].ips = map_file(stream, &streams[s].n);
		streams[s].n /= sizeof(uint32_t);
	}
	while (k < RTE_DIM(kinds) && strcmp(kinds[k].name, kind) != 0)
		k++;
	if (k == RTE_DIM(kinds) || batch == 0 || batch > MAX_BATCH || batch % 4 != 0 || streams[s].n % batch != 0) {
		puts("error unknown lookup");
		return;
	}
	if (kinds[k].select >= 0 && rte_fib_select_lookup(fib, kinds[k].select) != 0) {
		puts("unsupported");
		return;
	}
	uint64_t sum = kinds[k].pass(streams[s].ips, streams[s].n, batch, 1);
	uint64_t begin = cpu_ns();
	for (unsigned i = 0; i < passes; i++)
		kinds[k].pass(streams[s].ips, streams[s].n, batch, 0);
	printf("ok %lu %lu\n", cpu_ns() - begin, sum);
}

static void update(void)
{
	uint64_t begin = cpu_ns();
	for (const struct route *r = updates; r < updates + update_count; r++)
		if (rte_fib_delete(fib, r->addr, r->length) != 0)
			fail("rte_fib_delete", "refused");
	uint64_t middle = cpu_ns();
	for (const struct route *r = updates; r < updates + update_count; r++)
		if (rte_fib_add(fib, r->addr, r->length, r->next_hop) != 0)
			fail("rte_fib_add", "refused");
	printf("ok %lu %lu\n", middle - begin, cpu_ns() - middle);
}

int main(int argc, char **argv)
{
	char *eal[] = { argv[0], "--no-pci", "--no-telemetry", "--log-level=*:error",
			"--force-max-simd-bitwidth=512", "--in-memory", NULL, NULL };
	int eal_count = 6;
	if (argc != 3) {
		fprintf(stderr, "usage: peers DIRECTORY huge|small\n");
		return 2;
	}
	directory = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(argv[2], "small") == 0) {
		eal[5] = "--no-huge";
		eal[eal_count++] = "-m";
		eal[eal_count++] = "1024";
	}
	if (rte_eal_init(eal_count, eal) < 0)
		fail("rte_eal_init", rte_strerror(rte_errno));
	routes = map_file("routes", &route_count);
	updates = map_file("updates", &update_count);
	route_count /= sizeof *routes;
	update_count /= sizeof *updates;
	fill_lpm();
	printf("ok %lu\n", fill_fib());

	char line[256], kind[32], stream[32];
	unsigned batch, passes;
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (sscanf(line, "lookup %31s %31s %u %u", kind, stream, &batch, &passes) == 4)
			lookup(kind, stream, batch, passes);
		else if (strcmp(line, "update\n") == 0)
			update();
		else
			puts("error unknown request");
	}
	return 0;
}
