// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr/bench/protocol"
)

// candidate is a program to measure.
type candidate struct {
	name    string
	program []string // the request is appended
	adjust  func(*protocol.Request)
	// command returns the arguments of a program that does not implement the
	// protocol, or nil if it has no such operation. Its output is the elements, if
	// they are needed.
	command func(row, protocol.Request) []string
	// bound marks a program that does not read Zarr and shows the limit of the
	// machine.
	bound bool
	ours  bool
	// inPlace marks a program that changes a copy of the store. Others get an empty
	// target.
	inPlace bool
}

// allCandidates returns the candidates as bench/setup installs them.
func allCandidates(cache string) []candidate {
	bin := func(name string) string { return filepath.Join(cache, "bin", name) }
	python, node := filepath.Join(cache, "venv", "bin", "python"), filepath.Join(cache, "zarrita")
	source := filepath.Join(cache, "python")
	return []candidate{
		{name: "varve", program: []string{bin("varve-peer")}, ours: true},
		{name: "varve-16MiB", program: []string{bin("varve-peer")}, ours: true, adjust: func(r *protocol.Request) { r.Budget = 16 << 20 }},
		{name: "varve-command", program: []string{bin("varve")}, ours: true, command: command},
		{name: "zarrs", program: []string{bin("zarrs-bench")}},
		{name: "tensorstore", program: []string{python, filepath.Join(source, "tensorstore_peer.py")}},
		{name: "zarr-python", program: []string{python, filepath.Join(source, "zarr_python.py")}},
		{
			name: "zarr-python-fused", program: []string{python, filepath.Join(source, "zarr_python.py")},
			adjust: func(r *protocol.Request) { r.Pipeline = "fused" },
		},
		{name: "zarrita", program: []string{"node", filepath.Join(node, "main.js")}},
		{name: "limit", program: []string{bin("limit")}, bound: true},
	}
}

// command lists the benchmark operations that the command can do.
func command(r row, q protocol.Request) []string {
	switch {
	case r.remote:
	case q.Work == protocol.ReadAll:
		return []string{"export", q.Store, "--format", "raw"}
	case q.Work == protocol.Open:
		return []string{"info", q.Store, "--json"}
	case q.Work == protocol.Members:
		return []string{"tree", q.Store, "--json"}
	}
	return nil
}

// present returns the installed candidates, and the names of the others.
func present(cache string, wanted []string) (found []candidate, missing []string, err error) {
	all := allCandidates(cache)
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(c candidate) bool { return c.name == name }) {
			return nil, nil, fmt.Errorf("no candidate %q; the candidates are %s", name, strings.Join(names(all), ", "))
		}
	}
	for _, c := range all {
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, c.name):
		case c.there():
			found = append(found, c)
		default:
			missing = append(missing, c.name)
		}
	}
	return found, missing, nil
}

// there reports whether the program and its script exist.
func (c candidate) there() bool {
	for i, name := range c.program {
		// The first word may be a name on the path, the others are files.
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if _, err := exec.LookPath(name); i > 0 || err != nil {
			return false
		}
	}
	return true
}

func names(all []candidate) (list []string) {
	for _, c := range all {
		list = append(list, c.name)
	}
	return list
}
