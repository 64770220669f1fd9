// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// factsFile has the table of programs that can read arrays, which varve info prints.
// Programs change, so the table has the month in which it was last compared with them.
const factsFile = "cmd/varve/internal/facts/readers.go"

var factsMonth = regexp.MustCompile(`(?m)^const verified = "(\d{4}-\d{2})"$`)

// checkFacts returns an error if the facts about other programs are older than six
// months.
func checkFacts(root string, now time.Time) error {
	source, err := os.ReadFile(filepath.Join(root, factsFile))
	if err != nil {
		return err
	}
	m := factsMonth.FindSubmatch(source)
	if m == nil {
		return fmt.Errorf("%s has no constant verified with a month such as 2026-11", factsFile)
	}
	month, err := time.Parse("2006-01", string(m[1]))
	if err != nil {
		return fmt.Errorf("%s: %w", factsFile, err)
	}
	// The whole month counts: facts of November can be released until the end of May.
	if !now.Before(month.AddDate(0, 7, 0)) {
		return fmt.Errorf("the facts about other programs are of %s, more than six months ago: run interop/peers, correct the table in %s, and set its month", m[1], factsFile)
	}
	return nil
}
