// Command peers measures fib.LookupBatch beside the IPv4 lookups of DPDK, rte_lpm
// and rte_fib, on one CPU: the same 901,899 prefixes, next hops and addresses,
// rounds that take turns, CPU time of the thread. It compares the sums of the next
// hops of all of them before it prints a number.
//
//	go run ./test/bench/peers -cpu 1
//
// The C half, dpdk/lookup.c, is built on the spot against libdpdk-dev; without
// that ours is measured alone. With vm.nr_hugepages at 640 or more both halves
// stand on reserved huge pages, as routers do; else both on small ones.
package main
