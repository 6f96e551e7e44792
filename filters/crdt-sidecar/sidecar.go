package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/gossip"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/resp"
	"patternbench.dev/crdt-sidecar/internal/table"
	"patternbench.dev/crdt-sidecar/internal/verbs"
)

// sidecar is everything that runs: a table, the gossip that shares it and the server that asks it.
type sidecar struct {
	settings settings
	clock    *clock.Clock
	table    *table.Table
	node     *gossip.Node
	server   *resp.Server
	listener net.Listener
}

// loading is the answer, in Redis's own word, until a node that restarts has its state back: a load balancer then follows
// its policy at once, where silence would cost each request a timeout.
const loading = "LOADING the peers' state is being fetched; ask again in a moment"

// start answers from the beginning, and decides once the gossip has joined its peers and regained what they hold.
func start(s settings, logTo io.Writer) (*sidecar, error) {
	if !s.verbose {
		logTo = io.Discard
	}
	listener, err := listen(s.listen, s.socketMode)
	if err != nil {
		return nil, err
	}
	clk := clock.New(clock.Machine())
	life := strconv.FormatInt(time.Now().UnixNano(), 36)
	self := replicaOf(s.name, life)
	c := &sidecar{settings: s, clock: clk, table: table.New(self, clk, s.maxKeys), listener: listener}
	var ready atomic.Pointer[verbs.Verbs]
	c.server = resp.Serve(listener, s.maxConnections, func(out []byte, arguments [][]byte) ([]byte, bool) {
		if v := ready.Load(); v != nil {
			return v.Handle(out, arguments)
		}
		return resp.AppendError(out, loading), false
	})
	c.node, err = gossip.Start(gossip.Config{
		Name: s.name, Life: life, Bind: s.gossip, Join: s.join, Interval: s.interval, PushPull: s.pushPull,
		Secret: s.secret, Log: logTo,
	}, self, c.table, clk)
	if err != nil {
		c.server.Close()
		return nil, fmt.Errorf("the gossip on %s did not start: %w", s.gossip, err)
	}
	ready.Store(&verbs.Verbs{Table: c.table, Stats: c.stats, Nodes: c.node.Names, About: c.about()})
	return c, nil
}

// replicaOf names one life of one node in 64 bits.
func replicaOf(name, life string) limit.Replica {
	sum := sha256.Sum256([]byte(name + "@" + life))
	return limit.Replica(max(binary.LittleEndian.Uint64(sum[:8]), 1))
}

func listen(address string, mode os.FileMode) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return net.Listen("tcp", address)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, mode)
}

// removeStale takes away the socket of a sidecar that was killed, and nothing else.
func removeStale(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket; choose another path", path)
	}
	if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = conn.Close()
		return fmt.Errorf("somebody already listens on %s", path)
	}
	return os.Remove(path)
}

// ready is one line of JSON for the process that started us: where we can be reached.
func (c *sidecar) ready() string {
	address := c.listener.Addr().String()
	if c.listener.Addr().Network() == "unix" {
		address = "unix:" + address
	}
	line, _ := json.Marshal(map[string]any{"ready": map[string]any{
		"name": c.settings.name, "listen": address, "gossip": c.node.Address(), "pid": os.Getpid(),
	}})
	return string(line)
}

func (c *sidecar) stop() {
	c.server.Close()
	c.node.Stop()
}

func (c *sidecar) about() []string {
	return []string{"# crdt-sidecar", "version:" + version, "name:" + c.settings.name, "gossip:" + c.node.Address()}
}

func (c *sidecar) stats() []verbs.Number {
	t, n := &c.table.Counters, &c.node.Counters
	return []verbs.Number{
		{Name: "keys", Value: c.table.Keys()},
		{Name: "max_keys", Value: c.table.MaxKeys()},
		{Name: "nodes", Value: int64(c.node.Live())},
		{Name: "taken", Value: t.Taken.Load()},
		{Name: "rejected", Value: t.Rejected.Load()},
		{Name: "refused_keys", Value: t.RefusedKeys.Load()},
		{Name: "ignored_cells", Value: t.IgnoredCells.Load()},
		{Name: "dropped_by_age", Value: t.DroppedByAge.Load()},
		{Name: "bad_messages", Value: n.BadMessages.Load()},
		{Name: "messages_sent", Value: n.MessagesSent.Load()},
		{Name: "messages_received", Value: n.MessagesReceived.Load()},
		{Name: "bytes_sent", Value: n.BytesSent.Load()},
		{Name: "bytes_received", Value: n.BytesReceived.Load()},
		{Name: "interval_us", Value: c.settings.interval.Microseconds()},
		{Name: "clock_offset_us", Value: c.clock.Offset() / 1000},
		{Name: "peer_clock_skew_us", Value: c.node.Skew() / 1000},
		{Name: "connections", Value: c.server.Connections()},
		{Name: "uptime_ms", Value: c.clock.Monotonic() / 1_000_000},
	}
}
