// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

// mutant is one entry of the list.
type mutant struct {
	name     string
	file     string   // from the root of the repository
	packages []string // packages whose tests must detect it
	tests    string   // regular expression of their names, "" for all
	old, new string
}

// parse reads the list. An entry has the lines "mutant NAME", "file FILE" and
// "test PACKAGE... [-run REGEXP]", the old text in lines that begin with "-", and the new
// one in lines that begin with "+". Lines that begin with "#" are comments.
func parse(text string) ([]*mutant, error) {
	var all []*mutant
	names := map[string]bool{}
	for entry := range strings.SplitSeq(text, "\n\n") {
		m := new(mutant)
		var old, fresh []string
		for line := range strings.Lines(entry) {
			line = strings.TrimSuffix(line, "\n")
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '-':
				old = append(old, line[1:])
			case line[0] == '+':
				fresh = append(fresh, line[1:])
			case word == "mutant":
				m.name = rest
			case word == "file":
				m.file = rest
			case word == "test":
				packages, tests, _ := strings.Cut(rest, " -run ")
				m.packages, m.tests = strings.Fields(packages), tests
			default:
				return nil, fmt.Errorf("%q: a line %q", m.name, line)
			}
		}
		m.old, m.new = strings.Join(old, "\n"), strings.Join(fresh, "\n")
		switch {
		case m.name == "" && m.file == "" && old == nil:
			continue // comments
		case m.name == "" || m.file == "" || m.packages == nil || m.old == "" || m.old == m.new:
			return nil, fmt.Errorf("an entry is incomplete:\n%s", entry)
		case names[m.name]:
			return nil, fmt.Errorf("two entries have the name %q", m.name)
		}
		names[m.name] = true
		all = append(all, m)
	}
	return all, nil
}

// apply returns the mutated content of the file.
func (m *mutant) apply() (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("its old text occurs %d times instead of once; update the entry in tools/mutants/mutants.txt", n)
	}
	return strings.Replace(string(source), m.old, m.new, 1), nil
}
