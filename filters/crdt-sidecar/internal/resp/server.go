// Package resp serves RESP2, the Redis protocol, to load balancers: requests are arrays of bulk strings.
package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxBulk is the longest argument in bytes.
	MaxBulk = 65_536
	// MaxArguments is the most arguments of a request, its verb included.
	MaxArguments = 16
	maxLine      = 32
)

var (
	// writeTimeout is how long a client may leave its answers unread; tests shorten it.
	writeTimeout = 5 * time.Second
	// requestTimeout is how long a request may take to arrive, from its first byte to its last; tests shorten it.
	requestTimeout = 5 * time.Second
)

// Handler answers one request; it appends its answer in RESP2 to out. quit closes the connection after the answer.
type Handler func(out []byte, arguments [][]byte) (answer []byte, quit bool)

// Server accepts connections until it is closed.
type Server struct {
	listener net.Listener
	handle   Handler
	most     int64
	open     atomic.Int64
	mu       sync.Mutex
	conns    map[stream]struct{}
	done     sync.WaitGroup
}

// Serve answers on a listener, with at most mostConnections at a time.
func Serve(listener net.Listener, mostConnections int64, handle Handler) *Server {
	server := &Server{listener: listener, handle: handle, most: mostConnections, conns: map[stream]struct{}{}}
	server.done.Add(1)
	go server.accept()
	return server
}

// Connections is how many are open.
func (s *Server) Connections() int64 { return s.open.Load() }

// Close stops listening, closes every connection and waits for them.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
}

func (s *Server) accept() {
	defer s.done.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors: wait for some to come back
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.admit(conn)
	}
}

func (s *Server) admit(conn net.Conn) {
	number := s.open.Add(1)
	if number > s.most {
		s.open.Add(-1)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(AppendError(nil, fmt.Sprintf("ERR too many connections; at most %d", s.most)))
		_ = conn.Close()
		return
	}
	var each stream = conn
	if number <= mostThreads {
		if own, err := inThread(conn); err == nil {
			each = own
		}
	}
	s.mu.Lock()
	s.conns[each] = struct{}{}
	s.mu.Unlock()
	s.done.Add(1)
	go s.serve(each)
}

func (s *Server) serve(conn stream) {
	defer s.done.Done()
	defer s.forget(conn)
	defer s.open.Add(-1) // before the client can see the end: a client that connects again at once finds a place
	source := &hurried{stream: conn}
	reader := bufio.NewReaderSize(source, 4096)
	isGone := watch(conn)
	var out []byte
	for {
		arguments, err := source.next(reader)
		quit := err != nil
		if err == nil && isGone() {
			return
		}
		if err == nil {
			out, quit = s.handle(out, arguments)
		} else if problem := new(ProtocolError); errors.As(err, problem) {
			out = AppendError(out, "ERR "+problem.Error())
		}
		if (quit || reader.Buffered() == 0) && !flush(conn, &out) || quit {
			return
		}
	}
}

// hurried is a connection on which a request may begin at any time, but whose rest must come soon: a client that sends half of
// one would otherwise keep one of a bounded number of connections for ever.
type hurried struct {
	stream
	until time.Time
	isSet bool
}

// next reads the next request. Only a request that is not there as a whole costs a call that sets a deadline.
func (h *hurried) next(reader *bufio.Reader) ([][]byte, error) {
	h.until = time.Time{}
	if _, err := reader.Peek(1); err != nil {
		return nil, err
	}
	h.until = time.Now().Add(requestTimeout)
	return ReadRequest(reader)
}

func (h *hurried) Read(bytes []byte) (int, error) {
	if isNeeded := !h.until.IsZero(); isNeeded || h.isSet {
		if err := h.SetReadDeadline(h.until); err != nil {
			return 0, err
		}
		h.isSet = isNeeded
	}
	return h.stream.Read(bytes)
}

func flush(conn stream, out *[]byte) bool {
	if len(*out) == 0 {
		return true
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := conn.Write(*out)
	*out = (*out)[:0]
	return err == nil
}

func (s *Server) forget(conn stream) {
	_ = conn.Close()
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
}

// ProtocolError is what is wrong with the bytes of a request, for a person to read.
type ProtocolError string

func (e ProtocolError) Error() string { return "protocol: " + string(e) }

// ReadRequest reads an array of bulk strings; an error other than a ProtocolError means that the connection ended.
func ReadRequest(reader *bufio.Reader) ([][]byte, error) {
	count, err := readCount(reader, '*', 1, MaxArguments)
	if err != nil {
		return nil, err
	}
	arguments := make([][]byte, count)
	for i := range arguments {
		if arguments[i], err = readBulk(reader); err != nil {
			return nil, err
		}
	}
	return arguments, nil
}

func readBulk(reader *bufio.Reader) ([]byte, error) {
	length, err := readCount(reader, '$', 0, MaxBulk)
	if err != nil {
		return nil, err
	}
	bulk := make([]byte, length+2)
	if _, err := io.ReadFull(reader, bulk); err != nil {
		return nil, err
	}
	if bulk[length] != '\r' || bulk[length+1] != '\n' {
		return nil, ProtocolError("a bulk string does not end where its length says")
	}
	return bulk[:length], nil
}

func readCount(reader *bufio.Reader, kind byte, least, most int) (int, error) {
	line, err := readLine(reader)
	if err != nil {
		return 0, err
	}
	if len(line) == 0 || line[0] != kind {
		return 0, ProtocolError(fmt.Sprintf("%q doesn't begin with %q; send arrays of bulk strings (RESP2)", line, kind))
	}
	count, err := strconv.Atoi(string(line[1:]))
	if err != nil || count < least || count > most {
		return 0, ProtocolError(fmt.Sprintf("a count of %q after %q; allowed: %d to %d", line[1:], kind, least, most))
	}
	return count, nil
}

func readLine(reader *bufio.Reader) ([]byte, error) {
	line := make([]byte, 0, maxLine)
	for {
		c, err := reader.ReadByte()
		if err != nil {
			return nil, err
		}
		if c == '\n' && len(line) > 0 && line[len(line)-1] == '\r' {
			return line[:len(line)-1], nil
		}
		if line = append(line, c); len(line) > maxLine {
			return nil, ProtocolError(fmt.Sprintf("a line of more than %d bytes where a count is expected", maxLine))
		}
	}
}

// AppendInteger appends a RESP integer.
func AppendInteger(out []byte, value int64) []byte {
	out = strconv.AppendInt(append(out, ':'), value, 10)
	return append(out, '\r', '\n')
}

// AppendArray appends the beginning of a RESP array.
func AppendArray(out []byte, length int) []byte {
	out = strconv.AppendInt(append(out, '*'), int64(length), 10)
	return append(out, '\r', '\n')
}

// AppendBulk appends a RESP bulk string.
func AppendBulk(out []byte, text string) []byte {
	out = strconv.AppendInt(append(out, '$'), int64(len(text)), 10)
	out = append(out, '\r', '\n')
	out = append(out, text...)
	return append(out, '\r', '\n')
}

// AppendSimple appends a RESP simple string.
func AppendSimple(out []byte, text string) []byte {
	return append(append(append(out, '+'), text...), '\r', '\n')
}

// AppendError appends a RESP error; whatever would end its line early becomes a space.
func AppendError(out []byte, text string) []byte {
	out = append(out, '-')
	for i := range len(text) {
		c := text[i]
		if c < ' ' {
			c = ' '
		}
		out = append(out, c)
	}
	return append(out, '\r', '\n')
}
