package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Check says what this client cannot do of a round; nothing for one that it can run.
func Check(body []byte, adapter Adapter) []Problem {
	_, problems := read(body, adapter)
	return problems
}

// read turns the body of a request into a round that this client can run, or says why it isn't one.
//
// patternbench sends what the contract's schema allows. What does not fit the types is therefore another version of
// the contract.
func read(body []byte, adapter Adapter) (Round, []Problem) {
	var round Round
	if err := strictly(body, &round); err != nil {
		return round, []Problem{problemOf(err)}
	}
	if round.Contract != Contract {
		return round, []Problem{newProblem("contract", round.Contract, "is another version of the contract", "1")}
	}
	return round, refused(round, adapter)
}

// problemOf says what is wrong with a body that isn't a round of this version.
func problemOf(err error) Problem {
	path := ""
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		path = mistyped.Field
	}
	return newProblem(path, nil, fmt.Sprintf("is not as the contract has it: %v", err), "")
}

// strictly decodes one JSON value, and refuses fields that the target does not have.
func strictly(text []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// only returns the name and the value of an object's one field.
func only(text []byte) (string, json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return "", nil, err
	}
	if len(fields) != 1 {
		return "", nil, fmt.Errorf("%d fields where one is due", len(fields))
	}
	var kind string
	for name := range fields {
		kind = name
	}
	return kind, fields[kind], nil
}

// UnmarshalJSON reads a strategy: an object with one field.
func (s *Strategy) UnmarshalJSON(text []byte) error {
	kind, config, err := only(text)
	if err != nil {
		return fmt.Errorf("strategy: %w", err)
	}
	s.Kind = kind
	switch kind {
	case "baseline":
		return strictly(config, &struct{}{})
	case "stack":
		return s.readStack(config)
	}
	return s.add(text)
}

func (s *Strategy) readStack(text []byte) error {
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return fmt.Errorf("strategy.stack: %w", err)
	}
	for i, entry := range entries {
		if err := s.add(entry); err != nil {
			return fmt.Errorf("strategy.stack[%d]: %w", i, err)
		}
	}
	return nil
}

func (s *Strategy) add(text []byte) error {
	policy, err := policyOf(text)
	s.Policies = append(s.Policies, policy)
	return err
}

// policyOf reads a policy: an object with one field.
func policyOf(text []byte) (Policy, error) {
	kind, config, err := only(text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "timeout":
		return decoded[TimeoutPolicy](config)
	case "retry":
		return decoded[Retry](config)
	case "circuit_breaker":
		return decoded[CircuitBreaker](config)
	case "bulkhead":
		return decoded[Bulkhead](config)
	}
	return foreign(kind), nil
}

func decoded[P Policy](config []byte) (Policy, error) {
	var policy P
	if err := strictly(config, &policy); err != nil {
		return nil, fmt.Errorf("%s: %w", policy.Kind(), err)
	}
	return policy, nil
}

// UnmarshalJSON reads a status, a range of them, or a name.
func (f *Failure) UnmarshalJSON(text []byte) error {
	*f = Failure(bytes.Trim(text, `"`))
	return nil
}

// UnmarshalJSON reads a name, or a share.
func (j *Jitter) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &j.Share) == nil {
		j.Kind = "share"
		return nil
	}
	return json.Unmarshal(text, &j.Kind)
}
