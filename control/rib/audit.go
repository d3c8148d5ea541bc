package rib

import "net/netip"

// Audited is the outcome of one Audit.
type Audited struct {
	Checked  int  // prefixes compared
	Repaired int  // of them the FIB held something else, or nothing, or held and should not
	Wrapped  bool // the last prefix of the table was reached: the next Audit starts over
}

// Audit compares the next n prefixes with what the FIB's writer has for them, and
// repairs what differs. It goes on where the last Audit stopped. Without a FIB it
// does nothing.
func (r *RIB) Audit(n int) (total Audited) {
	for total.Checked < n && !total.Wrapped {
		r.lock()
		part, attached := r.auditChunk(min(n-total.Checked, chunk))
		r.commit()
		r.mu.Unlock()
		if !attached {
			break
		}
		total.Checked += part.Checked
		total.Repaired += part.Repaired
		total.Wrapped = part.Wrapped
	}
	r.settle()
	return total
}

func (r *RIB) auditChunk(n int) (a Audited, attached bool) {
	if r.fib == nil {
		return a, false
	}
	for p, e := range r.after(everything, r.audited) {
		if a.Checked == n {
			return a, true
		}
		a.Checked++
		r.audited = p
		if !r.agrees(e) {
			a.Repaired++
			r.log.Warn("FIB differed from the RIB; repaired", "prefix", p)
			r.reprogram(e)
		}
	}
	a.Wrapped = true
	r.audited = netip.Prefix{}
	return a, true
}

// agrees reports whether the FIB has for e what it should have.
func (r *RIB) agrees(e *entry) bool {
	index, ok := r.fib.Get(e.prefix())
	if r.inFIB(e) {
		return ok && index == e.group.index
	}
	_, failed := r.failed[e]
	return !ok || failed || r.unswept.Get(e.prefix())
}

// reprogram writes what the FIB should have for e, whatever it has.
func (r *RIB) reprogram(e *entry) {
	if !r.inFIB(e) {
		r.deleteFromFIB(e.prefix())
		return
	}
	e.generation = 0
	r.installed--
	r.mark(e)
}
