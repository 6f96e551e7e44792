// The CRDT sidecar keeps rate-limit state next to one load balancer and shares it with its peers by gossip.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	settings, err := parseSettings(os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if settings == nil {
		return
	}
	sidecar, err := start(*settings, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crdt-sidecar:", err)
		os.Exit(1)
	}
	fmt.Println(sidecar.ready())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	sidecar.stop()
}
