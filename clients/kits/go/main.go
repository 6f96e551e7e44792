package kit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

const largestPort = 65535

// Main serves the contract until the process is told to end: what the main function of a client calls.
func Main(adapter Adapter) {
	if err := serve(adapter, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
}

func serve(adapter Adapter, arguments []string) error {
	port, err := portOf(arguments)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("cannot listen on port %d: %w; --port 0 takes a free one", port, err)
	}
	told, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: (&contractServer{adapter: adapter}).handler()}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Printf("{\"listening\": \"%s\"}\n", listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-told.Done():
		return server.Close()
	}
}

// portOf reads --port PORT; 0, the default, takes a free one.
func portOf(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return 0, nil
	}
	if len(arguments) == 2 && arguments[0] == "--port" {
		if port, err := strconv.ParseUint(arguments[1], 10, 16); err == nil {
			return int(port), nil
		}
	}
	return 0, fmt.Errorf("cannot read %q; allowed: --port PORT, from 0 to %d", strings.Join(arguments, " "), largestPort)
}
