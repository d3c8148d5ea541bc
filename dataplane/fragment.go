package dataplane

import "routerd/dataplane/packet"

// fragment hands a packet that is larger than the MTU of the way out to the port's worker in
// pieces, all of them or none. The books have the packet as the first piece; the others are
// originated here.
func (s *slowPath) fragment(t traveller, out *port, dst packet.MAC) {
	p := t.ip()
	if !t.ours {
		p.DecrementTTL() // before the headers are made
	}
	f := &s.fragments
	if f.Cut(p[:p.TotalLen()], out.mtu) != nil {
		s.drop(t, DropFragmentation)
		return
	}
	n := f.Count()
	if !s.workers[out.sender()].injects.room(n, packet.EthernetLen+out.mtu) {
		s.drop(t, DropInjectOverflow)
		return
	}
	made := n
	if !t.ours {
		s.row(t.in).add(cTxPackets, 1)
		made--
	}
	s.row(out.index).add(cOriginated, uint64(made))
	buffer := s.frameBuffer()
	for range n {
		frame := f.Next(buffer[:packet.EthernetLen])
		packet.Ethernet(frame).Encode(dst, out.mac, packet.TypeIPv4)
		for len(frame) < packet.MinFrame {
			frame = append(frame, 0)
		}
		s.emit(out, frame)
		buffer = frame[:0]
	}
	s.frames = append(s.frames, buffer)
}
