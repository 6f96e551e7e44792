module patternbench.dev/clients/gobreaker

go 1.26

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/sony/gobreaker/v2 v2.4.0
	patternbench.dev/clients/kit v0.0.0
)

replace patternbench.dev/clients/kit => ../kits/go
