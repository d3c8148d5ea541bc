//go:build !amd64 || race

package dataplane

import "routerd/nmring"

// headersAtOnce is more than a batch: all headers are checked by verifyInGo.
const headersAtOnce = 2 * MaxBatch

func (w *Worker) headersAVX512(*receive, int, int) uint64 { return 0 }

func (w *Worker) collectAVX512(*nmring.Ring, uint32, uint32) (uint64, bool) { return 0, false }
