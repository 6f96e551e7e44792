// The client of failsafe-go: its retry, circuit breaker, bulkhead and timeout behind patternbench's client contract.
package main

import "patternbench.dev/clients/kit"

func main() { kit.Main(adapter{}) }
