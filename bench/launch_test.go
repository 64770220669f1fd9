// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary act as the intermediate process, and as a program to
// launch.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "launch" {
		os.Exit(launched(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "say" {
		_, _ = os.Stdout.WriteString(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "fail" {
		_, _ = os.Stderr.WriteString("first\nError: no store\n    at main\n\nNode.js v20\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestLaunch(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mode, word, argument, out, failure string }{
		{keep, "say", "words", "words", ""},
		{sum, "say", "123456789", "00000000cbf43926", ""},
		{drop, "say", "words", "", ""},
		{keep, "fail", "", "", "Error: no store"},
	} {
		l, err := start(t.Context(), time.Minute, c.mode, []string{self, c.word, c.argument})
		if err != nil || l.Out != c.out || l.Failure != c.failure || l.Wall <= 0 {
			t.Errorf("%s %s: %+v, %v", c.mode, c.word, l, err)
		}
	}
	if l, err := start(t.Context(), time.Minute, keep, []string{"/no/such/program"}); err != nil || l.Failure == "" {
		t.Errorf("a program that is not there: %+v, %v", l, err)
	}
}

func TestLast(t *testing.T) {
	if got := last("", errors.New("exit status 1")); got != "exit status 1" {
		t.Errorf("last = %q", got)
	}
	if got := last(strings.Repeat("x", 500), errors.New("exit")); len(got) > 170 {
		t.Errorf("last has %d bytes", len(got))
	}
}
