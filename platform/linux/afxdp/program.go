//go:build linux

package afxdp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// cause is why the program passed a frame to the kernel's stack.
type cause int32

const (
	passedOther cause = iota // not IPv4: ARP, IPv6, VLAN, …
	passedMAC                // not for this port's MAC address: broadcast, multicast, others
	passedGroup              // for an IPv4 multicast group or 255.255.255.255
	passedLocal              // for an address of the host
	causes
)

var causeNames = [causes]string{"passed_not_ipv4", "passed_other_mac", "passed_multicast", "passed_local"}

const (
	xdpPass       = 2 // XDP_PASS
	ethertypeIPv4 = 0x0800
	classD        = 0xe // the upper four bits of a multicast address

	// Offsets in struct xdp_md.
	mdData, mdDataEnd, mdQueue = 0, 4, 16
	// Offsets in a frame.
	atDestinationMAC, atEtherType, ethernetEnd, atDestination, headersEnd = 0, 12, 14, 14 + 16, 14 + 20
)

// program is the XDP program of one port and its maps.
type program struct {
	prog    *ebpf.Program
	sockets *ebpf.Map // queue -> socket
	mac     *ebpf.Map // 0 -> our MAC address
	passed  *ebpf.Map // queue * causes + cause -> frames, for each CPU
	link    link.Link
	generic bool
}

// loadProgram loads the program of a port with the given number of queues. local is the
// set of the host's addresses.
func loadProgram(queues int, mac [6]byte, local *ebpf.Map) (p *program, err error) {
	p = &program{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&p.sockets, ebpf.MapSpec{Name: "routerd_sockets", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: uint32(queues)}},
		{&p.mac, ebpf.MapSpec{Name: "routerd_mac", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		{&p.passed, ebpf.MapSpec{Name: "routerd_passed", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: uint32(queues) * uint32(causes)}},
	} {
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			return nil, explainBPF(err)
		}
	}
	if err := p.setMAC(mac); err != nil {
		return nil, err
	}
	p.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name:         "routerd",
		Type:         ebpf.XDP,
		License:      "GPL",
		Instructions: instructions(p.sockets.FD(), p.mac.FD(), p.passed.FD(), local.FD()),
	})
	if err != nil {
		return nil, explainBPF(err)
	}
	return p, nil
}

// newLocalMap makes the set of the host's addresses that the programs of all ports share.
func newLocalMap() (*ebpf.Map, error) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "routerd_local", Type: ebpf.Hash, KeySize: 4, ValueSize: 1, MaxEntries: maxLocal})
	if err != nil {
		return nil, explainBPF(err)
	}
	return m, nil
}

func explainBPF(err error) error {
	if errors.Is(err, unix.EPERM) {
		return needsRoot(err)
	}
	return fmt.Errorf("bpf: %w", err)
}

func needsRoot(err error) error {
	return fmt.Errorf("AF_XDP needs root, or CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF: %w", err)
}

// instructions is the program. r6 holds the context, r2 the frame.
func instructions(sockets, mac, passed, local int) asm.Instructions {
	return slices.Concat(asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, mdData, asm.Word),
		asm.LoadMem(asm.R3, asm.R6, mdDataEnd, asm.Word),
		asm.Mov.Imm(asm.R7, int32(passedOther)),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, ethernetEnd),
		asm.JGT.Reg(asm.R4, asm.R3, "pass"),
		asm.LoadMem(asm.R4, asm.R2, atEtherType, asm.Half),
		asm.HostTo(asm.BE, asm.R4, asm.Half),
		asm.JNE.Imm(asm.R4, ethertypeIPv4, "pass"),

		asm.Mov.Imm(asm.R7, int32(passedMAC)),
		asm.LoadMapValue(asm.R5, mac, 0),
		asm.LoadMem(asm.R3, asm.R5, 0, asm.Word),
		asm.LoadMem(asm.R4, asm.R2, atDestinationMAC, asm.Word),
		asm.JNE.Reg(asm.R4, asm.R3, "pass"),
		asm.LoadMem(asm.R3, asm.R5, 4, asm.Half),
		asm.LoadMem(asm.R4, asm.R2, atDestinationMAC+4, asm.Half),
		asm.JNE.Reg(asm.R4, asm.R3, "pass"),

		// Whose header is cut off is for a worker to count.
		asm.LoadMem(asm.R3, asm.R6, mdDataEnd, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, headersEnd),
		asm.JGT.Reg(asm.R4, asm.R3, "redirect"),

		asm.Mov.Imm(asm.R7, int32(passedGroup)),
		asm.LoadMem(asm.R4, asm.R2, atDestination, asm.Word),
		asm.StoreMem(asm.RFP, -4, asm.R4, asm.Word),
		asm.HostTo(asm.BE, asm.R4, asm.Word),
		asm.Mov.Reg(asm.R5, asm.R4),
		asm.RSh.Imm(asm.R5, 28),
		asm.JEq.Imm(asm.R5, classD, "pass"),
		asm.Add.Imm(asm.R4, 1),
		asm.RSh.Imm(asm.R4, 32),
		asm.JNE.Imm(asm.R4, 0, "pass"), // 255.255.255.255

		asm.Mov.Imm(asm.R7, int32(passedLocal)),
		asm.LoadMapPtr(asm.R1, local),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JNE.Imm(asm.R0, 0, "pass"),

		asm.LoadMapPtr(asm.R1, sockets).WithSymbol("redirect"),
		asm.LoadMem(asm.R2, asm.R6, mdQueue, asm.Word),
		asm.Mov.Imm(asm.R3, xdpPass),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}, countAndPass(passed))
}

// countAndPass counts the frame under the cause in r7 and passes it up.
func countAndPass(passed int) asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R2, asm.R6, mdQueue, asm.Word).WithSymbol("pass"),
		asm.Mul.Imm(asm.R2, int32(causes)),
		asm.Add.Reg(asm.R2, asm.R7),
		asm.StoreMem(asm.RFP, -4, asm.R2, asm.Word),
		asm.LoadMapPtr(asm.R1, passed),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol("out"),
		asm.Return(),
	}
}

func (p *program) setMAC(mac [6]byte) error {
	var value [8]byte
	copy(value[:], mac[:])
	return p.mac.Put(uint32(0), value)
}

func (p *program) setSocket(queue int, s *socket) error {
	return p.sockets.Put(uint32(queue), uint32(s.fd))
}

// attach puts the program on the interface, in the driver where that can run it.
func (p *program) attach(ifindex int) (err error) {
	opts := link.XDPOptions{Program: p.prog, Interface: ifindex, Flags: link.XDPDriverMode}
	p.link, err = link.AttachXDP(opts)
	if errors.Is(err, unix.EOPNOTSUPP) {
		p.generic = true
		opts.Flags = link.XDPGenericMode
		p.link, err = link.AttachXDP(opts)
	}
	return err
}

// detach takes the program off the interface; frames go to the kernel again.
func (p *program) detach() error {
	if p.link == nil {
		return nil
	}
	err := p.link.Close()
	p.link = nil
	return err
}

// count is the number of frames of a queue passed to the kernel for a cause.
func (p *program) count(queue int, c cause) uint64 {
	var perCPU []uint64
	if p.passed.Lookup(uint32(queue)*uint32(causes)+uint32(c), &perCPU) != nil {
		return 0
	}
	var sum uint64
	for _, n := range perCPU {
		sum += n
	}
	return sum
}

func (p *program) close() error {
	errs := []error{p.detach()}
	if p.prog != nil {
		errs = append(errs, p.prog.Close())
	}
	for _, m := range []*ebpf.Map{p.sockets, p.mac, p.passed} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}
