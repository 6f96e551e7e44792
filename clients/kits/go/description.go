package kit

import (
	"runtime"
	"runtime/debug"
	"strings"
)

const version = "0.1.0"

// Description is who a client is.
type Description struct {
	Name       string   // of the client, as its folder
	Library    string   // the library's own name
	Modules    []string // the paths of the library's modules, whose versions are reported
	Strategies []string
	Policies   []string // those that its library has
}

// answer is what GET /client answers.
type answer struct {
	Contract   int      `json:"contract"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Language   string   `json:"language"`
	Library    library  `json:"library"`
	Strategies []string `json:"strategies"`
}

type library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (d Description) answer() answer {
	return answer{
		Contract:   Contract,
		Name:       d.Name,
		Version:    version,
		Language:   "Go " + strings.TrimPrefix(runtime.Version(), "go"),
		Library:    library{d.Library, strings.Join(versionsOf(d.Modules), "/")},
		Strategies: d.Strategies,
	}
}

// versionsOf says which versions of modules are built into this program.
func versionsOf(modules []string) []string {
	built := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			built[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	versions := make([]string, 0, len(modules))
	for _, path := range modules {
		versions = append(versions, built[path])
	}
	return versions
}
