package main

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const version = "0.1.0"

// settings is how one sidecar runs; once parsed, it is valid.
type settings struct {
	name           string
	listen         string
	socketMode     os.FileMode
	gossip         string
	join           []string
	interval       time.Duration
	pushPull       time.Duration
	maxKeys        int64
	maxConnections int64
	secret         []byte
	verbose        bool
}

// parseSettings reads the command line; nil without an error means that help or the version was asked for and given.
func parseSettings(arguments []string, out io.Writer) (*settings, error) {
	flags := flag.NewFlagSet("crdt-sidecar", flag.ContinueOnError)
	flags.SetOutput(out)
	s := &settings{}
	name, _ := os.Hostname()
	flags.StringVar(&s.name, "name", name, "this node's `name`, unique among its peers, without @")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:7380", "where load balancers connect: a loopback `host:port`, or unix:/path")
	mode := flags.Uint("socket-mode", 0o660, "permissions of the Unix socket, written 0660")
	flags.StringVar(&s.gossip, "gossip", "127.0.0.1:7946", "`host:port` of the gossip, UDP and TCP; not 0.0.0.0, peers are told this address")
	join := flags.String("join", "", "comma-separated `host:port`s of some peers' gossip")
	flags.DurationVar(&s.interval, "interval", 10*time.Millisecond, "dissemination interval: how stale peers may be, e.g. 10ms")
	flags.DurationVar(&s.pushPull, "push-pull", 5*time.Second, "interval of the full exchange with one peer, e.g. 5s")
	flags.Int64Var(&s.maxKeys, "max-keys", 1_000_000, "most keys held; further ones are refused and counted")
	flags.Int64Var(&s.maxConnections, "max-connections", 1024, "most connections of load balancers at a time")
	secret := flags.String("secret-file", "", "`file` with 16, 24 or 32 bytes in Base64 that encrypt and authenticate the gossip; needed beyond loopback")
	flags.BoolVar(&s.verbose, "verbose", false, "log the membership to standard error")
	showVersion := flags.Bool("version", false, "print the version and end")
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil
		}
		return nil, errors.New("crdt-sidecar: see crdt-sidecar --help")
	}
	if *showVersion {
		fmt.Fprintln(out, "crdt-sidecar", version)
		return nil, nil
	}
	s.socketMode, s.join = os.FileMode(*mode), splitList(*join)
	return checked(s, flags.Args(), *secret)
}

// checked gathers everything that is wrong before it gives up.
func checked(s *settings, rest []string, secretFile string) (*settings, error) {
	var problems []string
	note := func(ok bool, format string, values ...any) {
		if !ok {
			problems = append(problems, "crdt-sidecar: "+fmt.Sprintf(format, values...))
		}
	}
	note(len(rest) == 0, "%q is not a flag; see crdt-sidecar --help", strings.Join(rest, " "))
	note(s.name != "" && len(s.name) <= 64 && !strings.Contains(s.name, "@"), "--name is %q; allowed: 1 to 64 bytes without @", s.name)
	note(isLocal(s.listen), "--listen is %q; allowed: unix:/path, or a loopback address such as 127.0.0.1:7380", s.listen)
	note(isBindable(s.gossip), "--gossip is %q; allowed: an address of this machine such as 10.0.0.5:7946", s.gossip)
	for _, peer := range s.join {
		_, _, err := net.SplitHostPort(peer)
		note(err == nil, "--join has %q; allowed: host:port", peer)
	}
	note(within(s.interval, time.Millisecond, time.Minute), "--interval is %s; allowed: 1ms to 1m", s.interval)
	note(within(s.pushPull, 100*time.Millisecond, time.Hour), "--push-pull is %s; allowed: 100ms to 1h", s.pushPull)
	note(s.maxKeys >= 1 && s.maxKeys <= 100_000_000, "--max-keys is %d; allowed: 1 to 100000000", s.maxKeys)
	note(s.maxConnections >= 1 && s.maxConnections <= 65_536, "--max-connections is %d; allowed: 1 to 65536", s.maxConnections)
	note(secretFile != "" || !isBindable(s.gossip) || isLoopback(s.gossip), "--gossip is %q, beyond loopback, without --secret-file: "+
		"anybody who reaches it could remove or exhaust any limit; write one secret for all peers with: head -c 32 /dev/urandom | base64", s.gossip)
	if secretFile != "" {
		var err error
		s.secret, err = readSecret(secretFile)
		note(err == nil, "--secret-file %s: %v", secretFile, err)
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	return s, nil
}

func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func within(d, least, most time.Duration) bool { return d >= least && d <= most }

// isLocal keeps the verbs off the network: they have no authentication.
func isLocal(listen string) bool {
	if path, ok := strings.CutPrefix(listen, "unix:"); ok {
		return strings.HasPrefix(path, "/") && len(path) < 108
	}
	return isLoopback(listen)
}

func isLoopback(hostPort string) bool {
	address, err := net.ResolveTCPAddr("tcp", hostPort)
	return err == nil && address.IP.IsLoopback()
}

func isBindable(gossip string) bool {
	address, err := net.ResolveTCPAddr("tcp", gossip)
	return err == nil && address.IP != nil && !address.IP.IsUnspecified()
}

func readSecret(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != 16 && len(secret) != 24 && len(secret) != 32 {
		return nil, errors.New("not 16, 24 or 32 bytes in Base64; write one with: head -c 32 /dev/urandom | base64")
	}
	return secret, nil
}
