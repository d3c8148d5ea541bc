package dataplane

import (
	"fmt"
	"unsafe"

	"routerd/fib"
)

// Places in the segment.
const (
	epochsAt    = 4096
	roundsAt    = epochsAt + (MaxWorkers+1)*64
	rowsAt      = roundsAt + MaxWorkers*64
	adjacencyAt = rowsAt + (MaxWorkers+1)*MaxPorts*rowCounters*8
	stateEnd    = adjacencyAt + fib.MaxNextHops*adjacencyBytes

	adjacencyBytes = 32
	pageMask       = 4095
)

// What the places rely on.
const (
	_ = -uint(unsafe.Sizeof(epoch{}) ^ 64)
	_ = -uint(unsafe.Sizeof(busyRounds{}) ^ 64)
	_ = -uint(unsafe.Sizeof(row{}) ^ rowCounters*8)
	_ = -uint(unsafe.Sizeof(adjacency{}) ^ adjacencyBytes)
)

// StateSize is the size of a state segment in bytes, whole pages.
func StateSize() int { return (stateEnd + pageMask) &^ pageMask }

func viewState(memory []byte) (*State, error) {
	if len(memory) < StateSize() {
		return nil, fmt.Errorf("%w: %d bytes, %d expected: it is truncated, restart routerd", ErrState, len(memory), StateSize())
	}
	base := unsafe.Pointer(&memory[0])
	if uintptr(base)%8 != 0 {
		return nil, fmt.Errorf("%w: not on an 8-byte border: map it whole", ErrState)
	}
	return &State{
		memory: memory,
		h:      (*stateHeader)(base),
		epochs: (*[MaxWorkers + 1]epoch)(unsafe.Add(base, epochsAt)),
		rounds: (*[MaxWorkers]busyRounds)(unsafe.Add(base, roundsAt)),
		rows:   (*[MaxWorkers + 1][MaxPorts]row)(unsafe.Add(base, rowsAt)),
		adj:    (*[fib.MaxNextHops]adjacency)(unsafe.Add(base, adjacencyAt)),
	}, nil
}

// adjacencyAt is the adjacency of a next hop.
func (s *State) adjacencyAt(hop uint16) *adjacency {
	return (*adjacency)(unsafe.Add(unsafe.Pointer(s.adj), uintptr(hop&(fib.MaxNextHops-1))*adjacencyBytes))
}
