module patternbench.dev/clients/kit

go 1.26
