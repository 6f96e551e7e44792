// Package verbs turns requests into decisions and decisions into answers; the contract is
// contracts/ratelimit/sidecar.md.
package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"patternbench.dev/crdt-sidecar/internal/limit"
	"patternbench.dev/crdt-sidecar/internal/resp"
	"patternbench.dev/crdt-sidecar/internal/table"
)

const nanosPerMilli = 1_000_000

// Number is one line of the statistics.
type Number struct {
	Name  string
	Value int64
}

// Verbs answers requests about one table.
type Verbs struct {
	Table *table.Table
	Stats func() []Number
	Nodes func() []string
	About []string // lines of INFO before the numbers
}

type request struct {
	key   []byte
	rule  limit.Rule
	cost  int64
	age   int64 // nanoseconds
	share int64 // millionths
}

// Handle answers one request; it is a resp.Handler.
func (v *Verbs) Handle(out []byte, arguments [][]byte) ([]byte, bool) {
	verb := strings.ToUpper(string(arguments[0]))
	if strings.HasPrefix(verb, "PB.") {
		return v.own(out, verb, arguments[1:]), false
	}
	return v.redis(out, verb, arguments[1:]), verb == "QUIT"
}

func (v *Verbs) own(out []byte, verb string, arguments [][]byte) []byte {
	switch verb {
	case "PB.TAKE", "PB.PEEK", "PB.LEASE", "PB.REPORT", "PB.GIVE":
		return v.limiting(out, verb, arguments)
	case "PB.STATS":
		return appendStats(out, v.Stats())
	case "PB.NODES":
		return appendNames(out, v.Nodes())
	}
	return unknown(out, verb)
}

func (v *Verbs) redis(out []byte, verb string, arguments [][]byte) []byte {
	switch verb {
	case "PING":
		return pong(out, arguments)
	case "ECHO":
		return echo(out, arguments)
	case "INFO":
		return resp.AppendBulk(out, v.info())
	case "COMMAND":
		return resp.AppendArray(out, 0)
	case "SELECT":
		return selected(out, arguments)
	case "CLIENT", "QUIT":
		return resp.AppendSimple(out, "OK")
	}
	return unknown(out, verb)
}

func unknown(out []byte, verb string) []byte {
	return resp.AppendError(out, fmt.Sprintf("ERR unknown verb %s; allowed: PB.TAKE, PB.PEEK, PB.LEASE, PB.REPORT, PB.GIVE, "+
		"PB.STATS, PB.NODES, PING, ECHO, INFO, SELECT, CLIENT, COMMAND, QUIT", shorten([]byte(verb))))
}

func (v *Verbs) limiting(out []byte, verb string, arguments [][]byte) []byte {
	request, err := parse(verb, arguments)
	if err != nil {
		return resp.AppendError(out, "ERR "+err.Error())
	}
	answer, err := v.decide(verb, request)
	if errors.Is(err, table.ErrFull) {
		return resp.AppendError(out, fmt.Sprintf("FULL %d keys are held, as many as --max-keys allows, or their logs are full; "+
			"this one was not counted", v.Table.Keys()))
	}
	return appendAnswer(out, answer)
}

func (v *Verbs) decide(verb string, r request) (limit.Answer, error) {
	switch verb {
	case "PB.TAKE":
		return v.Table.Take(r.key, r.rule, r.cost)
	case "PB.LEASE":
		return v.Table.Lease(r.key, r.rule, r.cost, r.share)
	case "PB.REPORT":
		return v.Table.Report(r.key, r.rule, r.cost)
	case "PB.GIVE":
		return v.Table.GiveBack(r.key, r.rule, r.cost, r.age)
	default:
		return v.Table.Peek(r.key, r.rule, r.cost), nil
	}
}

// usage is what to type; PB.GIVE has one argument more than its neighbours, and PB.LEASE may have one.
func usage(verb string) (least, most int, text string) {
	switch verb {
	case "PB.GIVE":
		return 7, 7, verb + " key algorithm limit window_ms cost parameter age_ms"
	case "PB.LEASE":
		return 5, 7, verb + " key algorithm limit window_ms cost [parameter [share_ppm]]"
	}
	return 5, 6, verb + " key algorithm limit window_ms cost [parameter]"
}

func parse(verb string, arguments [][]byte) (request, error) {
	least, most, text := usage(verb)
	if len(arguments) < least || len(arguments) > most {
		return request{}, fmt.Errorf("%d arguments; write: %s", len(arguments), text)
	}
	if len(arguments[0]) == 0 {
		return request{}, errors.New("key is empty; allowed: 1 to 65536 bytes")
	}
	algorithm, err := algorithmOf(arguments[1])
	if err != nil {
		return request{}, err
	}
	return parseNumbers(verb, arguments[0], algorithm, arguments[2:])
}

func algorithmOf(name []byte) (limit.Algorithm, error) {
	if algorithm, ok := limit.Names[string(name)]; ok {
		return algorithm, nil
	}
	var allowed []string
	for name := range limit.Names {
		allowed = append(allowed, name)
	}
	slices.Sort(allowed)
	return 0, fmt.Errorf("algorithm is %s; allowed: %s", shorten(name), strings.Join(allowed, ", "))
}

// parseNumbers takes limit, window_ms, cost and, when they are there, parameter and what the verb alone has.
func parseNumbers(verb string, key []byte, algorithm limit.Algorithm, texts [][]byte) (request, error) {
	numbers := [5]int64{4: limit.Whole}
	names := [5]string{"limit", "window_ms", "cost", "parameter", "share_ppm"}
	if verb == "PB.GIVE" {
		numbers[4], names[4] = 0, "age_ms"
	}
	for i, text := range texts {
		number, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return request{}, fmt.Errorf("%s is %s; a whole number is needed", names[i], shorten(text))
		}
		numbers[i] = number
	}
	rule, err := limit.NewRule(algorithm, numbers[0], numbers[1], numbers[3])
	if err != nil {
		return request{}, err
	}
	if err := limit.CheckRange("cost", numbers[2], 1, limit.MaxUnits); err != nil {
		return request{}, err
	}
	made := request{key: bytes.Clone(key), rule: rule, cost: numbers[2]}
	return made, made.complete(verb, names[4], numbers[4])
}

// complete takes what the verb alone has.
func (r *request) complete(verb, name string, number int64) error {
	if verb == "PB.GIVE" {
		r.age = number * nanosPerMilli
		return limit.CheckRange(name, number, 0, limit.MaxWindow/nanosPerMilli)
	}
	r.share = number
	return limit.CheckRange(name, number, 1, limit.Whole)
}

func appendAnswer(out []byte, answer limit.Answer) []byte {
	out = resp.AppendArray(out, 5)
	out = resp.AppendInteger(out, answer.Allowed)
	out = resp.AppendInteger(out, answer.Remaining)
	for _, duration := range [3]int64{answer.Reset, answer.RetryAfter, answer.Delay} {
		out = resp.AppendInteger(out, milliseconds(duration))
	}
	return out
}

// milliseconds rounds up, so that no one comes back too early; Never stays -1.
func milliseconds(nanoseconds int64) int64 {
	if nanoseconds < 0 {
		return limit.Never
	}
	return nanoseconds/nanosPerMilli + min(nanoseconds%nanosPerMilli, 1)
}

func appendStats(out []byte, numbers []Number) []byte {
	out = resp.AppendArray(out, 2*len(numbers))
	for _, number := range numbers {
		out = resp.AppendBulk(out, number.Name)
		out = resp.AppendInteger(out, number.Value)
	}
	return out
}

func appendNames(out []byte, names []string) []byte {
	out = resp.AppendArray(out, len(names))
	for _, name := range names {
		out = resp.AppendBulk(out, name)
	}
	return out
}

func (v *Verbs) info() string {
	var text strings.Builder
	for _, line := range v.About {
		text.WriteString(line + "\r\n")
	}
	for _, number := range v.Stats() {
		fmt.Fprintf(&text, "%s:%d\r\n", number.Name, number.Value)
	}
	return text.String()
}

func pong(out []byte, arguments [][]byte) []byte {
	if len(arguments) == 0 {
		return resp.AppendSimple(out, "PONG")
	}
	return resp.AppendBulk(out, string(arguments[0]))
}

func echo(out []byte, arguments [][]byte) []byte {
	if len(arguments) != 1 {
		return resp.AppendError(out, "ERR write: ECHO text")
	}
	return resp.AppendBulk(out, string(arguments[0]))
}

func selected(out []byte, arguments [][]byte) []byte {
	if len(arguments) == 1 && string(arguments[0]) == "0" {
		return resp.AppendSimple(out, "OK")
	}
	return resp.AppendError(out, "ERR there is one database; write: SELECT 0")
}

// shorten quotes what someone sent, at most 64 bytes of it.
func shorten(text []byte) string {
	if len(text) > 64 {
		return strconv.Quote(string(text[:64])) + "..."
	}
	return strconv.Quote(string(text))
}
