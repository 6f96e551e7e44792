// Package gossip carries the cells of a table to the other nodes and theirs into the table.
//
// Membership, failure detection and full-state exchange are memberlist's (SWIM). Changed cells go to every live member
// once an interval, in packets that may be lost: a cell is the whole truth about its key, so the next one makes up for
// it, and the periodic push/pull of full state for the last one.
package gossip

import (
	"io"
	"log"
	"maps"
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
	// maxDatagram is the most that one packet can hold when it may be fragmented.
	maxDatagram = 60 << 10
	// chunkSize is the size of a message over a stream.
	chunkSize = 256 << 10
	// bulkSize is from how many changed bytes on an interval's messages go over a stream, which can't lose them.
	bulkSize = 64 << 10
	// pushPullSize bounds what another push/pull carries.
	pushPullSize = 4 << 20
	rejoinEvery  = time.Second
	forgetAfter  = time.Hour
	// mostSkews bounds whose clocks are watched: a sender may use any name.
	mostSkews = 1024
	// lateAfter is how much longer than others a message may be under way: no key is dropped as early, so a copy of an
	// earlier one says nothing new.
	lateAfter = int64(5 * time.Second)
	// forgetSkew is after how long a silent sender's skew is forgotten: then its last message is too old for a stranger's.
	forgetSkew = 2*limit.MaxAhead + lateAfter
	// regainWithin bounds how long a node fetches what the others hold before it decides without the rest.
	regainWithin = 10 * time.Second
)

// joinSize bounds what a push/pull carries when a node joins: the next one continues where it stopped, and each has to
// be over within TCPTimeout on a machine that is busy. Tests make it smaller.
var joinSize = 1 << 20

// Config is how a node takes part.
type Config struct {
	Name      string // of the node; its lives are distinguished by Life
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

	mu    sync.Mutex
	live  map[string]*memberlist.Node // our own copies of the other live members: memberlist changes its own under way
	known map[string]time.Time        // addresses of members seen, by when they were last alive

	skewing sync.Mutex
	skews   map[limit.Replica]skew

	pushing sync.Mutex
	cursor  int // the part of the table with which the next push/pull begins

	regaining sync.Mutex
	regained  map[limit.Replica]map[int]bool // the parts of the table that each peer has handed over in push/pulls; nil: decides

	streaming sync.Map // names of the members that something is being streamed to

	Counters Counters
}

// Counters are what a node has sent and received since it started.
type Counters struct {
	MessagesSent, MessagesReceived, BytesSent, BytesReceived, BadMessages atomic.Int64
}

type skew struct {
	nanoseconds int64
	at          int64
	most        int64 // the largest lately: that of the message that was under way the shortest
}

// least is what of the largest skew still holds: it shrinks by a tenth of the time that passes, as a clock that is
// slewed may lose it.
func (s skew) least(now int64) int64 { return s.most - (now-s.at)/10 }

// Start brings a node up, joins the others once if any answers, and begins to disseminate.
func Start(config Config, self limit.Replica, held *table.Table, clk *clock.Clock) (*Node, error) {
	node := &Node{
		config: config, self: self, table: held, clock: clk,
		log: log.New(config.Log, "", log.LstdFlags), stop: make(chan struct{}), joined: make(chan *memberlist.Node, 64),
		live: map[string]*memberlist.Node{}, known: map[string]time.Time{}, skews: map[limit.Replica]skew{},
		regained: map[limit.Replica]map[int]bool{},
	}
	settings, err := node.settings()
	if err != nil {
		return nil, err
	}
	if node.members, err = memberlist.Create(settings); err != nil {
		return nil, err
	}
	node.regain()
	node.begin(node.disseminate, node.tidy, node.rejoin, node.welcome)
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
	n.done.Wait()
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
	names := []string{n.config.Name}
	for _, member := range n.peers() {
		name, _, _ := strings.Cut(member.Name, "@")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Live is how many nodes are alive, this one included.
func (n *Node) Live() int { return len(n.peers()) + 1 }

// Skew is the largest difference of a peer's clock from ours in nanoseconds, among the messages of the last minute.
// A message's time under way counts as difference.
func (n *Node) Skew() int64 {
	n.skewing.Lock()
	defer n.skewing.Unlock()
	largest := int64(0)
	for sender, s := range n.skews {
		silent := n.clock.Monotonic() - s.at
		if silent > forgetSkew {
			delete(n.skews, sender)
		}
		if silent > int64(time.Minute) {
			continue
		}
		largest = max(largest, s.nanoseconds, -s.nanoseconds)
	}
	return largest
}

func (n *Node) disseminate() { n.every(n.config.Interval, n.flush) }

// tidy drops what is old; Skew drops the skews of senders that are silent.
func (n *Node) tidy() {
	n.every(time.Second, func() {
		n.table.Sweep()
		n.Skew()
	})
}

// every acts once an interval until the node stops.
func (n *Node) every(interval time.Duration, act func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-ticker.C:
			act()
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

// send goes by packets, or by a stream when there is much to send. A stream may hang on a member that hangs, so it runs
// in parallel, one at a time for each member; meanwhile the rest goes by packets.
func (n *Node) send(to *memberlist.Node, chunks [][]byte, bulk bool) {
	if !bulk && !slices.ContainsFunc(chunks, func(chunk []byte) bool { return len(chunk) > packetSize }) {
		n.deliver(to, chunks, n.members.SendBestEffort)
		return
	}
	if _, busy := n.streaming.LoadOrStore(to.Name, true); busy {
		fitting := slices.DeleteFunc(slices.Clone(chunks), func(chunk []byte) bool { return len(chunk) > maxDatagram })
		n.deliver(to, fitting, n.members.SendBestEffort)
		return
	}
	n.begin(func() {
		defer n.streaming.Delete(to.Name)
		n.deliver(to, chunks, n.members.SendReliable)
	})
}

func (n *Node) peers() []*memberlist.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.live))
}

func (n *Node) deliver(to *memberlist.Node, chunks [][]byte, by func(*memberlist.Node, []byte) error) {
	for _, chunk := range chunks {
		if err := by(to, chunk); err != nil {
			n.log.Printf("[WARN] sidecar: a message of %d bytes to %s was not sent: %v", len(chunk), to.Name, err)
			return
		}
		n.Counters.MessagesSent.Add(1)
		n.Counters.BytesSent.Add(int64(len(chunk)))
	}
}

// rejoin looks every second for members that are gone and for others that it knows of: memberlist gives up on a dead
// member after a while, but a partition may heal much later.
func (n *Node) rejoin() {
	n.every(rejoinEvery, func() {
		if missing := n.missing(); len(missing) > 0 {
			n.join(missing)
		}
	})
}

func (n *Node) missing() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, member := range n.live {
		n.known[member.Address()] = time.Now()
	}
	missing := n.lost()
	if len(n.live) == 0 { // alone: names may resolve to other addresses by now
		missing = append(missing, n.config.Join...)
	}
	return missing
}

// lost are the addresses that were alive once and are not now; it forgets the ones that have been gone for long.
func (n *Node) lost() []string {
	live := map[string]bool{}
	for _, member := range n.live {
		live[member.Address()] = true
	}
	maps.DeleteFunc(n.known, func(_ string, seen time.Time) bool { return time.Since(seen) > forgetAfter })
	var lost []string
	for address := range n.known {
		if !live[address] {
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

// regain joins the others and fetches all that they hold, in as many exchanges as that takes: a node that decided
// earlier would admit again what its former life has admitted. When no one else answers at first, it is alone and does
// not wait.
func (n *Node) regain() {
	defer n.stopRegaining()
	if len(n.config.Join) == 0 {
		return
	}
	for began := time.Now(); time.Since(began) < regainWithin; {
		n.join(n.config.Join)
		if n.isAlone() || n.hasRegained() {
			return
		}
	}
	n.log.Printf("[WARN] sidecar: did not get all that the others hold within %s", regainWithin)
}

func (n *Node) stopRegaining() {
	n.regaining.Lock()
	defer n.regaining.Unlock()
	n.regained = nil
}

func (n *Node) isAlone() bool {
	n.regaining.Lock()
	defer n.regaining.Unlock()
	return len(n.regained) == 0
}

// hasRegained is whether every peer that answered has handed over all that it holds: one of them may have just started
// too.
func (n *Node) hasRegained() bool {
	n.regaining.Lock()
	defer n.regaining.Unlock()
	for _, parts := range n.regained {
		if len(parts) < table.Shards {
			return false
		}
	}
	return len(n.regained) > 0
}

// noteRegained notes the parts of the table that a peer's half of a push/pull holds: whole ones, and all when it is not
// full.
func (n *Node) noteRegained(sender limit.Replica, size int, items []wire.Item) {
	n.regaining.Lock()
	defer n.regaining.Unlock()
	if n.regained == nil {
		return
	}
	if n.regained[sender] == nil {
		n.regained[sender] = map[int]bool{}
	}
	for _, item := range items {
		n.regained[sender][table.Part(item.Key)] = true
	}
	for part := 0; size <= joinSize && part < table.Shards; part++ {
		n.regained[sender][part] = true
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
		n.deliver(to, messages.finish(), n.members.SendReliable)
	}
}

func (n *Node) isSelf(member *memberlist.Node) bool {
	return member.Name == n.config.Name+"@"+n.config.Life
}

// NotifyJoin is memberlist's: a member appeared or came back.
func (n *Node) NotifyJoin(member *memberlist.Node) {
	if n.isSelf(member) {
		return
	}
	copied := n.remember(member)
	select {
	case n.joined <- copied:
	default: // 64 are waiting: push/pull will do
	}
}

// NotifyUpdate is memberlist's: a member's address may have changed.
func (n *Node) NotifyUpdate(member *memberlist.Node) {
	if !n.isSelf(member) {
		n.remember(member)
	}
}

func (n *Node) remember(member *memberlist.Node) *memberlist.Node {
	copied := &memberlist.Node{Name: member.Name, Addr: slices.Clone(member.Addr), Port: member.Port}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.live[member.Name] = copied
	n.known[member.Address()] = time.Now()
	return copied
}

// NotifyLeave is memberlist's: a member left on purpose (it is forgotten) or died (we look for it).
func (n *Node) NotifyLeave(member *memberlist.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.live, member.Name)
	if member.State == memberlist.StateLeft {
		delete(n.known, member.Address())
	}
}

// NodeMeta is memberlist's; we describe nothing.
func (n *Node) NodeMeta(int) []byte { return nil }

// GetBroadcasts is memberlist's; we send directly, because epidemic gossip would add rounds of staleness.
func (n *Node) GetBroadcasts(int, int) [][]byte { return nil }

// NotifyMsg is memberlist's: a message from a peer.
func (n *Node) NotifyMsg(message []byte) { n.receive(message) }

// MergeRemoteState is memberlist's: a peer's part of a push/pull.
func (n *Node) MergeRemoteState(message []byte, join bool) {
	header, items, ok := n.receive(message)
	if ok && join && header.Sender != n.self { // it may have been told to join itself
		n.noteRegained(header.Sender, len(message), items)
	}
}

// LocalState is memberlist's: our part of a push/pull, going on where the last one stopped when it is too much for one.
func (n *Node) LocalState(join bool) []byte {
	size := pushPullSize
	if join {
		size = joinSize
	}
	n.pushing.Lock()
	defer n.pushing.Unlock()
	message := wire.Start(wire.Header{Sender: n.self, Now: n.clock.Now()})
	for range table.Shards {
		n.table.Shard(n.cursor, func(item wire.Item) { message = wire.Append(message, item) })
		n.cursor = (n.cursor + 1) % table.Shards
		if len(message) > size {
			break
		}
	}
	return message
}

// receive takes a message into the table; not ok when it is malformed.
func (n *Node) receive(message []byte) (header wire.Header, items []wire.Item, ok bool) {
	header, items, err := wire.Decode(message)
	if err != nil {
		n.Counters.BadMessages.Add(1)
		return header, nil, false
	}
	if len(n.config.Secret) > 0 && n.isLate(header) {
		n.Counters.BadMessages.Add(1)
		return header, nil, false
	}
	n.Counters.MessagesReceived.Add(1)
	n.Counters.BytesReceived.Add(int64(len(message)))
	n.note(header)
	n.table.Merge(items)
	return header, items, true
}

func (n *Node) note(header wire.Header) {
	n.skewing.Lock()
	defer n.skewing.Unlock()
	if _, known := n.skews[header.Sender]; !known && len(n.skews) >= mostSkews {
		return
	}
	ahead, now := header.Now-n.clock.Now(), n.clock.Monotonic()
	most := ahead
	if before, known := n.skews[header.Sender]; known {
		most = max(most, before.least(now))
	}
	n.skews[header.Sender] = skew{ahead, now, most}
}

// isLate is whether a message was under way longer than any of ours is: someone recorded it and sends it again. A
// bucket would count what it says from now on. Without a secret a packet is as easily made up, with any time.
func (n *Node) isLate(header wire.Header) bool {
	n.skewing.Lock()
	defer n.skewing.Unlock()
	ahead := header.Now - n.clock.Now()
	if known, ok := n.skews[header.Sender]; ok {
		return ahead < known.least(n.clock.Monotonic())-lateAfter
	}
	return ahead < -limit.MaxAhead
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
