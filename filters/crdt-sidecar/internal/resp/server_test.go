package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAClientThatDoesNotReadIsLetGo(t *testing.T) {
	usual := writeTimeout
	writeTimeout = 200 * time.Millisecond
	defer func() { writeTimeout = usual }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	much := strings.Repeat("x", 1<<20)
	server := Serve(listener, 10, func(out []byte, _ [][]byte) ([]byte, bool) { return AppendBulk(out, much), false })
	defer server.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, strings.Repeat("*1\r\n$4\r\nPING\r\n", 100)); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for accepted := false; !accepted || server.Connections() > 0; time.Sleep(10 * time.Millisecond) {
		accepted = accepted || server.Connections() > 0
		if time.Now().After(deadline) {
			t.Fatal("still there")
		}
	}
}

func TestClosingAConnectionWakesTheThreadThatReadsFromIt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	peer, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := inThread(accepted)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond) // the thread is in read(2) by then; if it is not, it ends all the same
	go func() { _ = conn.Close() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the thread still waits for bytes")
	}
}

// serving answers PING on loopback, with a time limit for a request.
func serving(t *testing.T, limit time.Duration) (*Server, string) {
	usual := requestTimeout
	requestTimeout = limit
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, 1024, func(out []byte, _ [][]byte) ([]byte, bool) { return AppendSimple(out, "PONG"), false })
	t.Cleanup(func() {
		server.Close()
		requestTimeout = usual
	})
	return server, listener.Addr().String()
}

func dialled(t *testing.T, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

const ping, pong = "*1\r\n$4\r\nPING\r\n", "+PONG\r\n"

func expectPong(t *testing.T, conn net.Conn) {
	answer := make([]byte, len(pong))
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != pong {
		t.Fatalf("%q, %v", answer, err)
	}
}

// Connections beyond mostThreads wait in the poller, in another way than those before it.
func TestHalfARequestIsLetGoHoweverItsConnectionWaits(t *testing.T) {
	for _, before := range []int{0, mostThreads} {
		server, address := serving(t, 200*time.Millisecond)
		for range before {
			conn := dialled(t, address)
			send(t, conn, ping)
			expectPong(t, conn)
		}
		half := dialled(t, address)
		send(t, half, ping)
		expectPong(t, half)
		go func() {
			for _, c := range "*1\r\n$65536\r\n" + strings.Repeat("x", 1000) { // one byte after another: each in time, the whole not
				if _, err := half.Write([]byte{byte(c)}); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		_ = half.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := half.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
			t.Fatalf("after %d others: still there (%v)", before, err)
		}
		if got := server.Connections(); got != int64(before) {
			t.Errorf("%d connections of %d are left: those that ask nothing must stay", got, before)
		}
	}
}

func TestWhoeverSeesTheEndOfTheLastConnectionFindsAPlaceAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, 1, func(out []byte, _ [][]byte) ([]byte, bool) { return AppendSimple(out, "PONG"), true })
	defer server.Close()
	for range 500 {
		conn := dialled(t, listener.Addr().String())
		send(t, conn, ping)
		expectPong(t, conn)
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Fatalf("the connection was to end: %v", err)
		}
	}
}

func TestAConnectionThatAsksNothingForLongIsKept(t *testing.T) {
	_, address := serving(t, 50*time.Millisecond)
	conn := dialled(t, address)
	for range 3 {
		send(t, conn, ping[:5])
		time.Sleep(5 * time.Millisecond)
		send(t, conn, ping[5:])
		expectPong(t, conn)
		time.Sleep(150 * time.Millisecond)
	}
}

// A sidecar that is held up finds such requests when it goes on, each before the end of its connection.
func TestARequestWhoseAskerHasGoneIsNotHandled(t *testing.T) {
	for _, isThreaded := range []bool{false, true} {
		ours, theirs := connected(t)
		send(t, theirs, ping+ping)
		_ = theirs.Close()
		var conn stream = ours
		if isThreaded {
			own, err := inThread(ours)
			if err != nil {
				t.Fatal(err)
			}
			conn = own
		}
		handled := 0
		server := &Server{conns: map[stream]struct{}{}, handle: func(out []byte, _ [][]byte) ([]byte, bool) {
			handled++
			return out, false
		}}
		server.done.Add(1)
		server.serve(conn)
		if handled != 0 {
			t.Errorf("%d requests of a closed connection were handled", handled)
		}
	}
}

// connected is both ends of a connection on loopback.
func connected(t *testing.T) (ours, theirs net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	theirs = dialled(t, listener.Addr().String())
	if ours, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}
