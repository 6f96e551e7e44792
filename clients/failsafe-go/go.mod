module patternbench.dev/clients/failsafe-go

go 1.26

require (
	github.com/failsafe-go/failsafe-go v0.9.7
	patternbench.dev/clients/kit v0.0.0
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect

replace patternbench.dev/clients/kit => ../kits/go
