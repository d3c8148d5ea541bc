// Command demo shows routerd at work: it lays an upstream router, our router and a
// LAN host into network namespaces, lets routerd learn routes over eBGP on two
// AF_XDP ports, moves ping and UDP both ways through it and prints what routerctl
// shows. It ends with 0 only if the traffic passed with a TTL one less, the routes
// came by eBGP and routerd's own counters carried it.
//
// It needs Linux, root, iproute2, and routerd, routerctl and speaker beside it.
package main
