package dataplane

import (
	"container/heap"
	"time"
)

// timers orders neighbours by their deadlines, equal ones by age.
type timers []*neighbor

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if t[i].deadline.Equal(t[j].deadline) {
		return t[i].serial < t[j].serial
	}
	return t[i].deadline.Before(t[j].deadline)
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer, t[j].timer = i, j
}

// Push and Pop are heap.Interface's.
func (t *timers) Push(x any) {
	n := x.(*neighbor)
	n.timer = len(*t)
	*t = append(*t, n)
}

func (t *timers) Pop() any {
	last := len(*t) - 1
	n := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	n.timer = -1
	return n
}

// set gives a neighbour its next deadline.
func (t *timers) set(n *neighbor, at time.Time) {
	n.deadline = at
	if n.timer < 0 {
		heap.Push(t, n)
	} else {
		heap.Fix(t, n.timer)
	}
}

func (t *timers) stop(n *neighbor) {
	if n.timer >= 0 {
		heap.Remove(t, n.timer)
	}
}

// next is the first deadline, zero when there is none.
func (t timers) next() time.Time {
	if len(t) == 0 {
		return time.Time{}
	}
	return t[0].deadline
}
