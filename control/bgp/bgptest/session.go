package bgptest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// Options describe this side of the session.
type Options struct {
	Local    netip.Addr     // source address, and the default next hop
	Remote   netip.AddrPort // the speaker under test
	AS       uint32
	ID       netip.Addr    // BGP identifier; Local where unset
	HoldTime time.Duration // 90 s where zero; 0 is offered with NoHold
	NoHold   bool
	Once     bool                               // Dial gives up when it is refused
	Extra    []bgp.ParameterCapabilityInterface // capabilities beside IPv4 unicast and AS4
}

// Session is one connection to a speaker under test.
type Session struct {
	conn net.Conn
	opts Options
	open *bgp.BGPOpen

	sending sync.Mutex // one message at a time on conn

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change below
	routes  map[netip.Prefix]Route
	updates int
	eor     bool
	atEnd   map[netip.Prefix]Route // the routes when End-of-RIB came
	notice  *bgp.BGPNotification
	done    error // why reading ended; nil while it runs
}

// ErrClosed is the end of a session whose connection the far side closed.
var ErrClosed = errors.New("bgptest: connection closed")

// ErrRefused is an opening that was answered with a NOTIFICATION.
var ErrRefused = errors.New("bgptest: refused")

// Dial connects and exchanges OPEN and KEEPALIVE. It tries again until ctx ends,
// because a speaker refuses connections for some seconds after a session.
func Dial(ctx context.Context, o Options) (*Session, error) {
	for {
		s, err := dialOnce(ctx, o)
		if err == nil || o.Once && errors.Is(err, ErrRefused) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("bgptest: no session with %s: %w (last: %w)", o.Remote, ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Connect makes only the TCP connection of o, for tests that send bad openings.
func Connect(ctx context.Context, o Options) (net.Conn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.Local, 0))}
	return d.DialContext(ctx, "tcp", o.Remote.String())
}

func dialOnce(ctx context.Context, o Options) (*Session, error) {
	conn, err := Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return begin(ctx, conn, o)
}

// Accept waits for one connection on l and exchanges OPEN and KEEPALIVE on it.
func Accept(ctx context.Context, l net.Listener, o Options) (*Session, error) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return begin(ctx, conn, o)
}

// begin starts a session on conn, which it closes where that fails.
func begin(ctx context.Context, conn net.Conn, o Options) (*Session, error) {
	s, err := start(ctx, conn, o)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func start(ctx context.Context, conn net.Conn, o Options) (*Session, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	s := &Session{conn: conn, opts: o, changed: make(chan struct{}), routes: make(map[netip.Prefix]Route)}
	open, err := o.open()
	if err != nil {
		return nil, err
	}
	if err := s.Send(open); err != nil {
		return nil, err
	}
	for s.open == nil {
		m, err := ReadMessage(conn)
		if err != nil {
			return nil, err
		}
		switch body := m.Body.(type) {
		case *bgp.BGPOpen:
			s.open = body
		case *bgp.BGPNotification:
			return nil, refused(body)
		}
	}
	if err := s.Send(bgp.NewBGPKeepAliveMessage()); err != nil {
		return nil, err
	}
	m, err := ReadMessage(conn)
	if err != nil {
		return nil, err
	}
	if body, ok := m.Body.(*bgp.BGPNotification); ok {
		return nil, refused(body)
	}
	if m.Header.Type != bgp.BGP_MSG_KEEPALIVE {
		return nil, fmt.Errorf("bgptest: message type %d where KEEPALIVE was due", m.Header.Type)
	}
	if !stop() {
		return nil, ctx.Err()
	}
	go s.read()
	return s, nil
}

func refused(n *bgp.BGPNotification) error {
	return fmt.Errorf("%w with notification %d/%d", ErrRefused, n.ErrorCode, n.ErrorSubcode)
}

func (o Options) open() (*bgp.BGPMessage, error) {
	hold := o.HoldTime
	if hold == 0 && !o.NoHold {
		hold = 90 * time.Second
	}
	id := o.ID
	if !id.IsValid() {
		id = o.Local
	}
	as := o.AS
	if as > 65535 {
		as = bgp.AS_TRANS
	}
	caps := append([]bgp.ParameterCapabilityInterface{
		bgp.NewCapMultiProtocol(bgp.RF_IPv4_UC),
		bgp.NewCapRouteRefresh(),
		bgp.NewCapFourOctetASNumber(o.AS),
	}, o.Extra...)
	return bgp.NewBGPOpenMessage(uint16(as), uint16(hold/time.Second), id,
		[]bgp.OptionParameterInterface{bgp.NewOptionParameterCapability(caps)})
}

// ReadMessage reads one message. Bytes that GoBGP's decoder refuses are an error.
func ReadMessage(r io.Reader) (*bgp.BGPMessage, error) {
	var head [bgp.BGP_HEADER_LENGTH]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(head[16:18]))
	if length < len(head) {
		return nil, fmt.Errorf("bgptest: message of %d bytes", length)
	}
	raw := make([]byte, length)
	copy(raw, head[:])
	if _, err := io.ReadFull(r, raw[len(head):]); err != nil {
		return nil, err
	}
	return bgp.ParseBGPMessage(raw)
}

// Send writes one message.
func (s *Session) Send(m *bgp.BGPMessage) error {
	raw, err := m.Serialize()
	if err != nil {
		return err
	}
	return s.SendRaw(raw)
}

// SendRaw writes bytes as they are.
func (s *Session) SendRaw(raw []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	_, err := s.conn.Write(raw)
	return err
}

// Keepalive sends one KEEPALIVE.
func (s *Session) Keepalive() error { return s.Send(bgp.NewBGPKeepAliveMessage()) }

// Notify sends a NOTIFICATION and closes the connection.
func (s *Session) Notify(code, subcode uint8) error {
	err := s.Send(bgp.NewBGPNotificationMessage(code, subcode, nil))
	s.conn.Close()
	return err
}

// Kill drops the connection with a reset, as a crashed peer does.
func (s *Session) Kill() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	s.conn.Close()
}

// LocalAddr is this end of the TCP connection.
func (s *Session) LocalAddr() netip.AddrPort {
	return s.conn.LocalAddr().(*net.TCPAddr).AddrPort()
}

// GracefulRestart is the capability of a speaker that keeps forwarding IPv4 while its
// BGP restarts (RFC 4724). Restarted says that it just did, and that its forwarding state
// is still there.
func GracefulRestart(limit time.Duration, restarted bool) bgp.ParameterCapabilityInterface {
	return bgp.NewCapGracefulRestart(restarted, false, uint16(limit/time.Second),
		[]*bgp.CapGracefulRestartTuple{bgp.NewCapGracefulRestartTuple(bgp.RF_IPv4_UC, restarted)})
}

// Capability returns the first capability of a kind in the far side's OPEN, nil where
// there is none.
func (s *Session) Capability(code bgp.BGPCapabilityCode) bgp.ParameterCapabilityInterface {
	for _, p := range s.open.OptParams {
		list, ok := p.(*bgp.OptionParameterCapability)
		if !ok {
			continue
		}
		for _, c := range list.Capability {
			if c.Code() == code {
				return c
			}
		}
	}
	return nil
}

// Open is the OPEN message of the far side.
func (s *Session) Open() *bgp.BGPOpen { return s.open }
