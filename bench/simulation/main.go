// SPDX-License-Identifier: Apache-2.0

// Command simulation prints the tables of docs/scale.md: what rechunking a petabyte on a
// thousand workers takes, by a simulation of events.
//
//	go run ./bench/simulation                    # with the inputs of costs.json
//	go run ./bench/simulation -costs my.json     # with others
//
// Equal inputs print equal tables.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
)

//go:embed costs.json
var builtin []byte

func main() {
	name := flag.String("costs", "", "a FILE with other inputs; costs.json has the form")
	flag.Parse()
	if err := run(*name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string) error {
	data := builtin
	if name != "" {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return err
		}
	}
	p, err := newPage(data)
	if err != nil {
		return err
	}
	all := p.sections()
	for _, name := range names {
		fmt.Printf("%s:\n\n%s\n", name, all[name])
	}
	return nil
}
