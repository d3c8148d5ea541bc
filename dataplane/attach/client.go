package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Client is the control process's end. Its methods may be called by any goroutine.
type Client struct {
	welcome Welcome
	files   [Segments]*os.File
	conn    *conn
	events  func(PortStatusList)

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan message
	err     error // why the connection is gone
	done    chan struct{}
}

// Dial attaches to the forwarding process that listens at path. events is called, from
// one goroutine, for each change of a port that nobody asked for. An error that nobody
// listens is os.ErrNotExist or ECONNREFUSED; ErrTaken and ErrProtocol say what else may
// be wrong.
func Dial(ctx context.Context, path string, events func(PortStatusList)) (*Client, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("forwarding process: %w", err)
	}
	c := &Client{conn: &conn{UnixConn: nc.(*net.UnixConn)}, events: events,
		waiting: map[uint64]chan message{}, done: make(chan struct{}), next: 1}
	if deadline, ok := ctx.Deadline(); ok {
		_ = nc.SetReadDeadline(deadline)
	}
	lines, err := c.hello()
	if err != nil {
		c.closeFiles()
		_ = nc.Close()
		return nil, fmt.Errorf("forwarding process at %s: %w", path, err)
	}
	_ = nc.SetReadDeadline(time.Time{})
	go c.read(lines)
	return c, nil
}

// hello exchanges the first messages and takes the descriptors.
func (c *Client) hello() (*bufio.Reader, error) {
	q := request{ID: c.next, Op: "hello", Body: encode(Hello{Protocol: Protocol, PID: os.Getpid()})}
	if err := json.NewEncoder(c.conn).Encode(q); err != nil {
		return nil, err
	}
	buf := make([]byte, 4096)
	oob := make([]byte, syscall.CmsgSpace(Segments*4))
	n, oobn, _, _, err := c.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, ErrClosed
	}
	if err := c.takeFiles(oob[:oobn]); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(io.MultiReader(bytes.NewReader(buf[:n]), c.conn))
	line, err := readLine(lines)
	if err != nil {
		return nil, err
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	if m.Taken {
		return nil, fmt.Errorf("%w (%s)", ErrTaken, m.Error)
	}
	if m.Error != "" {
		return nil, fmt.Errorf("%w: %s", ErrProtocol, m.Error)
	}
	if err := json.Unmarshal(m.Body, &c.welcome); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	for _, f := range c.files {
		if f == nil {
			return nil, fmt.Errorf("%w: the welcome came without shared memory", ErrProtocol)
		}
	}
	return lines, nil
}

func (c *Client) takeFiles(oob []byte) error {
	if len(oob) == 0 {
		return nil
	}
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	var fds []int
	for _, m := range msgs {
		got, err := syscall.ParseUnixRights(&m)
		if err == nil {
			fds = append(fds, got...)
		}
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "shared memory")
		if i < Segments {
			c.files[i] = f
		} else {
			_ = f.Close()
		}
	}
	return nil
}

func (c *Client) closeFiles() {
	for _, f := range c.files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Welcome is what the forwarding process said of itself.
func (c *Client) Welcome() Welcome { return c.welcome }

// Files are the shared memory segments; they belong to the client and live as long as it.
func (c *Client) Files() [Segments]*os.File { return c.files }

// Done is closed when the connection is gone.
func (c *Client) Done() <-chan struct{} { return c.done }

// SetPorts makes the forwarding process's ports those of l.
func (c *Client) SetPorts(ctx context.Context, l PortList) (PortStatusList, error) {
	var s PortStatusList
	return s, c.ask(ctx, "set-ports", l, &s)
}

// Ports asks for the state of all ports.
func (c *Client) Ports(ctx context.Context) (PortStatusList, error) {
	var s PortStatusList
	return s, c.ask(ctx, "ports", nil, &s)
}

// DefineNextHops tells that next hops have been defined in the FIB, and returns when the
// forwarding process no longer uses what their indexes meant before.
func (c *Client) DefineNextHops(ctx context.Context, indexes []uint16) error {
	return c.ask(ctx, "define-next-hops", NextHopList{indexes}, nil)
}

// Neighbors asks for the neighbour table.
func (c *Client) Neighbors(ctx context.Context) ([]Neighbor, error) {
	var l NeighborList
	err := c.ask(ctx, "neighbors", nil, &l)
	return l.Neighbors, err
}

// Stop asks the forwarding process to give its ports back and end, and waits until it is
// gone or ctx ends.
func (c *Client) Stop(ctx context.Context) error {
	if err := c.ask(ctx, "stop", nil, nil); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close detaches. The forwarding process goes on.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	c.closeFiles()
	return err
}

func (c *Client) ask(ctx context.Context, op string, body, into any) error {
	q := request{Op: op}
	if body != nil {
		q.Body = encode(body)
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return c.err
	}
	c.next++
	q.ID = c.next
	c.waiting[q.ID] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, q.ID)
		c.mu.Unlock()
	}()
	line, err := json.Marshal(q)
	if err != nil {
		return err
	}
	c.conn.mu.Lock()
	_, err = c.conn.Write(append(line, '\n'))
	c.conn.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %v", ErrClosed, err)
	}
	select {
	case m := <-answer:
		if m.Error != "" {
			return errors.New(m.Error)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(m.Body, into)
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("forwarding process does not answer %s: %w", op, ctx.Err())
	}
}

// read hands answers to those who wait for them until the connection ends.
func (c *Client) read(lines *bufio.Reader) {
	events := make(chan PortStatusList, 64)
	go func() {
		for e := range events {
			if c.events != nil {
				c.events(e)
			}
		}
	}()
	defer close(events)
	var err error
	for {
		var line []byte
		if line, err = readLine(lines); err != nil {
			break
		}
		var m message
		if err = json.Unmarshal(line, &m); err != nil {
			break
		}
		if m.Event == "ports" {
			var l PortStatusList
			if err = json.Unmarshal(m.Body, &l); err != nil {
				break
			}
			events <- l
			continue
		}
		c.mu.Lock()
		if w := c.waiting[m.ID]; w != nil {
			w <- m
			delete(c.waiting, m.ID)
		}
		c.mu.Unlock()
	}
	_ = c.conn.Close()
	c.mu.Lock()
	c.err = fmt.Errorf("%w: %v", ErrClosed, err)
	c.mu.Unlock()
	close(c.done)
}

// readLine reads a line of at most maxLine bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("%w: line of more than %d bytes", ErrProtocol, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
