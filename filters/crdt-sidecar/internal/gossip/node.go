// Package gossip carries the cells of a table to the other nodes and theirs into the table.
//
// Membership, failure detection and full-state exchange are memberlist's (SWIM). Changed cells go to every live member
// once an interval, in packets that may be lost: a cell is the whole truth about its key, so the next one makes up for it,
// and the periodic push/pull of full state for the last one.
package gossip

import (
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"patternbench.dev/crdt-sidecar/internal/clock"
	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/table"
	"patternbench.dev/crdt-sidecar/internal/wire"
)

const (
	// packetSize keeps a message inside one unfragmented packet with memberlist's own overhead.
	packetSize = 1300
	// chunkSize is the size of a message over a stream.
	chunkSize = 256 << 10
	// bulkSize is from how many changed bytes on an interval's messages go over a stream, which can't lose them.
	bulkSize = 64 << 10
	// pushPullSize bounds what one push/pull carries; memberlist refuses more than 20 MB. Successive ones go on where the
	// last one stopped.
	pushPullSize = 8 << 20
	rejoinEvery  = time.Second
	forgetAfter  = time.Hour
)

// Config is how a node takes part.
type Config struct {
	Name      string // of the node; its lives are told apart by Life
	Life      string
	Bind      string // host:port; port 0 takes a free one
	Join      []string
	Interval  time.Duration // dissemination: the staleness knob
	PushPull  time.Duration
	Secret    []byte               // 16, 24 or 32 bytes encrypt the gossip; empty: none
	Transport memberlist.Transport // nil: the network
	Log       io.Writer
}

// Node is a member of the group of sidecars.
type Node struct {
	config  Config
	self    limit.Replica
	table   *table.Table
	clock   *clock.Clock
	members *memberlist.Memberlist
	log     *log.Logger
	stop    chan struct{}
	done    sync.WaitGroup
	joined  chan *memberlist.Node

	mu     sync.Mutex
	cursor int
	known  map[string]time.Time // addresses of members seen, by when they were last alive
	skews  map[limit.Replica]skew

	Counters Counters
}

// Counters are what a node has sent and received since it started.
type Counters struct {
	MessagesSent, MessagesReceived, BytesSent, BytesReceived, BadMessages atomic.Int64
}

type skew struct {
	nanoseconds int64
	at          int64
}

// Start brings a node up, joins the others once if any answers, and begins to disseminate.
func Start(config Config, self limit.Replica, held *table.Table, clk *clock.Clock) (*Node, error) {
	node := &Node{
		config: config, self: self, table: held, clock: clk,
		log: log.New(config.Log, "", log.LstdFlags), stop: make(chan struct{}), joined: make(chan *memberlist.Node, 64),
		known: map[string]time.Time{}, skews: map[limit.Replica]skew{},
	}
	settings, err := node.settings()
	if err != nil {
		return nil, err
	}
	if node.members, err = memberlist.Create(settings); err != nil {
		return nil, err
	}
	if len(config.Join) > 0 {
		node.join(config.Join)
	}
	node.begin(node.disseminate, node.rejoin, node.welcome)
	return node, nil
}

func (n *Node) settings() (*memberlist.Config, error) {
	address, err := net.ResolveTCPAddr("tcp", n.config.Bind)
	if err != nil {
		return nil, err
	}
	settings := memberlist.DefaultLANConfig()
	settings.Name = n.config.Name + "@" + n.config.Life
	settings.BindAddr, settings.BindPort = address.IP.String(), address.Port
	settings.AdvertisePort = address.Port
	settings.Transport = n.config.Transport
	settings.SecretKey = n.config.Secret
	settings.EnableCompression = false
	settings.TCPTimeout = 2 * time.Second
	settings.ProbeInterval, settings.ProbeTimeout = 500*time.Millisecond, 200*time.Millisecond
	settings.GossipInterval = 100 * time.Millisecond
	settings.PushPullInterval = n.config.PushPull
	settings.LogOutput = n.config.Log
	settings.Delegate, settings.Events = n, n
	return settings, nil
}

func (n *Node) begin(loops ...func()) {
	for _, loop := range loops {
		n.done.Add(1)
		go func() {
			defer n.done.Done()
			loop()
		}()
	}
}

// Stop sends what is left, says goodbye to the others, and ends.
func (n *Node) Stop() {
	close(n.stop)
	n.done.Wait()
	n.flush()
	_ = n.members.Leave(300 * time.Millisecond)
	_ = n.members.Shutdown()
}

// Abort ends without a goodbye, as a crash would.
func (n *Node) Abort() {
	close(n.stop)
	_ = n.members.Shutdown()
	n.done.Wait()
}

// Address is the host:port of the gossip.
func (n *Node) Address() string { return n.members.LocalNode().Address() }

// Names are the names of the live nodes, sorted, each once.
func (n *Node) Names() []string {
	var names []string
	for _, member := range n.members.Members() {
		name, _, _ := strings.Cut(member.Name, "@")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Live is how many nodes are alive, this one included.
func (n *Node) Live() int { return len(n.members.Members()) }

// Skew is the largest difference of a peer's clock from ours in nanoseconds, among the messages of the last minute.
// A message's time under way counts as difference.
func (n *Node) Skew() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	largest := int64(0)
	for _, s := range n.skews {
		if n.clock.Monotonic()-s.at < int64(time.Minute) {
			largest = max(largest, s.nanoseconds, -s.nanoseconds)
		}
	}
	return largest
}

func (n *Node) disseminate() {
	ticker := time.NewTicker(n.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-ticker.C:
			n.flush()
		}
	}
}

// flush sends every cell that changed since the last one to every live member.
func (n *Node) flush() {
	messages := &packer{size: packetSize, header: wire.Header{Sender: n.self, Now: n.clock.Now()}}
	n.table.Changed(messages.add)
	chunks := messages.finish()
	for _, member := range n.peers() {
		n.send(member, chunks, messages.total > bulkSize)
	}
}

func (n *Node) peers() []*memberlist.Node {
	self := n.members.LocalNode().Name
	return slices.DeleteFunc(n.members.Members(), func(m *memberlist.Node) bool { return m.Name == self })
}

func (n *Node) send(to *memberlist.Node, chunks [][]byte, bulk bool) {
	for _, chunk := range chunks {
		deliver := n.members.SendBestEffort
		if bulk || len(chunk) > packetSize {
			deliver = n.members.SendReliable
		}
		if err := deliver(to, chunk); err != nil {
			n.log.Printf("[WARN] sidecar: a message of %d bytes to %s was not sent: %v", len(chunk), to.Name, err)
			return
		}
		n.Counters.MessagesSent.Add(1)
		n.Counters.BytesSent.Add(int64(len(chunk)))
	}
}

// rejoin looks every second for members that are gone and for the ones it was told of: memberlist gives up on a dead
// member after a while, but a partition may heal much later.
func (n *Node) rejoin() {
	ticker := time.NewTicker(rejoinEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-ticker.C:
			n.table.Sweep()
			if missing := n.missing(); len(missing) > 0 {
				n.join(missing)
			}
		}
	}
}

func (n *Node) missing() []string {
	live := map[string]bool{}
	for _, member := range n.members.Members() {
		live[member.Address()] = true
	}
	missing := n.lost(live)
	if len(live) == 1 { // alone: names may resolve to other addresses by now
		missing = append(missing, n.config.Join...)
	}
	return missing
}

func (n *Node) lost(live map[string]bool) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lost []string
	for address, seen := range n.known {
		switch {
		case live[address]:
			n.known[address] = time.Now()
		case time.Since(seen) > forgetAfter:
			delete(n.known, address)
		default:
			lost = append(lost, address)
		}
	}
	return lost
}

func (n *Node) join(addresses []string) {
	if _, err := n.members.Join(addresses); err != nil {
		n.log.Printf("[DEBUG] sidecar: not everyone could be joined: %v", err)
	}
}

// welcome streams the whole table to nodes that joined, whatever its size.
func (n *Node) welcome() {
	for {
		select {
		case <-n.stop:
			return
		case member := <-n.joined:
			n.stream(member)
		}
	}
}

func (n *Node) stream(to *memberlist.Node) {
	for part := range table.Shards {
		messages := &packer{size: chunkSize, header: wire.Header{Sender: n.self, Now: n.clock.Now()}}
		n.table.Shard(part, messages.add)
		n.send(to, messages.finish(), true)
	}
}

// NotifyJoin is memberlist's: a member appeared or came back.
func (n *Node) NotifyJoin(member *memberlist.Node) {
	if member.Name == n.config.Name+"@"+n.config.Life {
		return
	}
	n.mu.Lock()
	n.known[member.Address()] = time.Now()
	n.mu.Unlock()
	select {
	case n.joined <- member:
	default: // 64 are waiting: push/pull will do
	}
}

// NotifyLeave is memberlist's: a member left on purpose (it is forgotten) or died (we look for it).
func (n *Node) NotifyLeave(member *memberlist.Node) {
	if member.State == memberlist.StateLeft {
		n.mu.Lock()
		delete(n.known, member.Address())
		n.mu.Unlock()
	}
}

// NotifyUpdate is memberlist's; nothing of ours depends on a member's description.
func (n *Node) NotifyUpdate(*memberlist.Node) {}

// NodeMeta is memberlist's; we describe nothing.
func (n *Node) NodeMeta(int) []byte { return nil }

// GetBroadcasts is memberlist's; we send directly, because epidemic gossip would add rounds of staleness.
func (n *Node) GetBroadcasts(int, int) [][]byte { return nil }

// NotifyMsg is memberlist's: a message from a peer.
func (n *Node) NotifyMsg(message []byte) { n.receive(message) }

// MergeRemoteState is memberlist's: a peer's part of a push/pull.
func (n *Node) MergeRemoteState(message []byte, _ bool) { n.receive(message) }

// LocalState is memberlist's: our part of a push/pull, going on where the last one stopped when it is too much for one.
func (n *Node) LocalState(bool) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	message := wire.Start(wire.Header{Sender: n.self, Now: n.clock.Now()})
	for range table.Shards {
		n.table.Shard(n.cursor, func(item wire.Item) { message = wire.Append(message, item) })
		n.cursor = (n.cursor + 1) % table.Shards
		if len(message) > pushPullSize {
			break
		}
	}
	return message
}

func (n *Node) receive(message []byte) {
	header, items, err := wire.Decode(message)
	if err != nil {
		n.Counters.BadMessages.Add(1)
		return
	}
	n.Counters.MessagesReceived.Add(1)
	n.Counters.BytesReceived.Add(int64(len(message)))
	n.mu.Lock()
	n.skews[header.Sender] = skew{header.Now - n.clock.Now(), n.clock.Monotonic()}
	n.mu.Unlock()
	n.table.Merge(items)
}

// packer puts items into messages of about a size.
type packer struct {
	size   int
	header wire.Header
	chunks [][]byte
	buffer []byte
	total  int
}

func (p *packer) add(item wire.Item) {
	one := wire.Append(nil, item)
	if p.buffer != nil && len(p.buffer)+len(one) > p.size {
		p.chunks = append(p.chunks, p.buffer)
		p.buffer = nil
	}
	if p.buffer == nil {
		p.buffer = wire.Start(p.header)
	}
	p.buffer = append(p.buffer, one...)
	p.total += len(one)
}

func (p *packer) finish() [][]byte {
	if p.buffer != nil {
		p.chunks = append(p.chunks, p.buffer)
	}
	return p.chunks
}
