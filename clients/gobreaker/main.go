// The client of sony/gobreaker with cenkalti/backoff: their breaker and retry behind patternbench's client contract.
package main

import "patternbench.dev/clients/kit"

func main() { kit.Main(adapter{}) }
