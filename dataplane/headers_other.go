//go:build !amd64 || race

package dataplane

// headersAtOnce is more than a batch: all headers are checked by verifyInGo.
const headersAtOnce = 2 * MaxBatch

func (w *Worker) headersAVX512(*receive, int, int) uint64 { return 0 }
