// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/manual"
)

// screenBuffer is a terminal in memory.
type screenBuffer struct{ bytes.Buffer }

func (*screenBuffer) IsTerminal() bool { return true }

// onScreen runs a command line on a terminal and returns its standard output and standard
// error.
func onScreen(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	var o, e screenBuffer
	run(t.Context(), args, console.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String()
}

// TestHelpIsWrapped checks that no help is wider than a terminal, except examples and
// single long words.
func TestHelpIsWrapped(t *testing.T) {
	helps := map[string]string{"varve": must(t, "")}
	for _, c := range newRoot().Commands() {
		helps[c.Name()] = must(t, "", "help", c.Name())
		if got := must(t, "", c.Name(), "--help"); got != helps[c.Name()] {
			t.Errorf("%s: --help is another help\n%s", c.Name(), got)
		}
	}
	for _, name := range topicNames() {
		helps[name] = must(t, "", "help", name)
	}
	for name, text := range helps {
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > 80 && !strings.HasPrefix(line, "  varve ") && !strings.Contains(line, "| varve ") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if text := helps["varve"]; !strings.Contains(text, "Grow and cut:\n  append ") {
		t.Error(text)
	}
	if text := helps["create"]; strings.Contains(text, "settled") || strings.Contains(text, "--http-timeout") || !strings.Contains(text, "varve help flags") {
		t.Error("flags of all commands are explained with each of them")
	}
	if text := helps["flags"]; !strings.Contains(text, "--http-timeout DURATION") {
		t.Error(text)
	}
}

// TestHelpFitsOneScreen checks that the help of a command has at most 50 lines of 100
// columns. What is longer belongs in a topic.
func TestHelpFitsOneScreen(t *testing.T) {
	root := newRoot()
	addCompletion(root)
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.InitDefaultHelpFlag()
			if n := strings.Count(helpText(c, io.Discard, 100), "\n"); n > 50 {
				t.Errorf("%s: %d lines", c.CommandPath(), n)
			}
		}
	}
	if n := strings.Count(helpText(root, io.Discard, 100), "\n"); n > 96 {
		t.Errorf("the list of commands and topics has %d lines", n)
	}
}

// TestTopicsNameCommands checks that topics are about commands that exist, and that the
// help of these names them.
func TestTopicsNameCommands(t *testing.T) {
	for _, topic := range manual.Topics() {
		for _, name := range topic.Commands {
			if words := strings.Fields(must(t, "", "help", name)); !strings.Contains(strings.Join(words, " "), "varve help "+topic.Name) {
				t.Errorf("the help of %s does not name %s", name, topic.Name)
			}
		}
	}
}

// TestPlaceholders checks that the placeholder of every flag is one word in capitals, and
// that its text explains it.
func TestPlaceholders(t *testing.T) {
	check := func(c *cobra.Command) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			if f.NoOptDefVal != "" {
				return
			}
			if name, _ := pflag.UnquoteUsage(f); name == "" || name != strings.ToUpper(name) || strings.ContainsAny(name, "|, ") {
				t.Errorf("%s --%s %s", c.Name(), f.Name, name)
			}
		}
	}
	root := newRoot()
	root.PersistentFlags().VisitAll(check(root))
	for _, c := range root.Commands() {
		c.LocalFlags().VisitAll(check(c))
	}
}

func TestTopics(t *testing.T) {
	for name, want := range map[string]string{"select": "(0,10), (5,20) and (7,30)", "chunks": "calendar:month", "growth": "append-one"} {
		if out := must(t, "", "help", name); !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Error(out)
		}
	}
	out, _, status := execute(t, "", "__complete", "help", "")
	if status != 0 || !strings.Contains(out, "growth\n") || !strings.Contains(out, "append\n") {
		t.Errorf("status %d, %s", status, out)
	}
	if out := must(t, "", "help"); out != must(t, "") {
		t.Error(out)
	}
}

// TestColour checks that text is coloured only on terminals, and not if NO_COLOR is set.
func TestColour(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if out, _ := onScreen(t, "help", "info"); !strings.Contains(out, "\x1b[1mUsage:\x1b[0m") {
		t.Errorf("%q", out)
	}
	if _, errs := onScreen(t, "info", "nowhere"); !strings.HasPrefix(errs, "\x1b[1;31mvarve:\x1b[0m ") {
		t.Errorf("%q", errs)
	}
	if _, errs := onScreen(t, "info", "nowhere", "--json"); strings.Contains(errs, "\x1b") {
		t.Errorf("%q", errs)
	}
	t.Setenv("NO_COLOR", "1")
	if out, errs := onScreen(t, "help", "nonsense"); strings.Contains(out+errs, "\x1b") {
		t.Errorf("%q %q", out, errs)
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if out, _ := onScreen(t, "help", "info"); strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
}

// TestConfirmations checks the one line at a terminal about what was done.
func TestConfirmations(t *testing.T) {
	node := t.TempDir() + "/a.zarr"
	for _, c := range []struct {
		want string
		args []string
	}{
		{node + "  int8  4 × 5  chunks 4 | 5\n", []string{"create", node, "--shape", "4,5", "--dtype", "int8"}},
		{node + "  20 values written\n", []string{"write", node, "--value", "1"}},
		{node + ".npy  20 values as npy\n", []string{"export", node, "-o", node + ".npy"}},
		{node + "  attribute a set\n", []string{"attrs", node, "set", "a", "1"}},
		{node + "  attribute a unset\n", []string{"attrs", node, "unset", "a"}},
		{node + "  removed\n", []string{"rm", node, "--yes"}},
		{node + "  group of format 3\n", []string{"create", node, "--group"}},
	} {
		if out, errs := onScreen(t, c.args...); out != "" || errs != c.want {
			t.Errorf("%q: %q, %q, want %q", c.args, out, errs, c.want)
		}
	}
	if _, errs := onScreen(t, "rm", node, "--yes", "--json"); errs != "" {
		t.Errorf("%q", errs)
	}
}

func TestCommit(t *testing.T) {
	info := func(pairs ...string) *debug.BuildInfo {
		b := new(debug.BuildInfo)
		for i := 0; i < len(pairs); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return b
	}
	for want, b := range map[string]*debug.BuildInfo{
		"":                      info(),
		"0123456789ab":          info("vcs.revision", "0123456789abcdef", "vcs.modified", "false"),
		"0123456789ab-modified": info("vcs.revision", "0123456789abcdef", "vcs.modified", "true"),
	} {
		if got := commitOf(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTopicsWrap checks that no width loses words of a topic.
func TestTopicsWrap(t *testing.T) {
	for _, width := range []int{1, 40, 80, 1000} {
		for _, topic := range manual.Topics() {
			if got := manual.Wrap(topic.Text, width); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(topic.Text), " ") {
				t.Errorf("%s loses words at width %s", topic.Name, fmt.Sprint(width))
			}
		}
	}
}

// flagInText matches a flag in a text, and the word before it, which may be a command.
var flagInText = regexp.MustCompile(`(?:(?:^|[ (])([a-z]+) )?--([a-z][a-z_-]*)`)

// TestFlagsInHelp checks that every flag named in a help text exists. It must be a flag
// of the command named before it, or of the command that the text explains. In examples
// it must be a flag of the command that the line runs.
func TestFlagsInHelp(t *testing.T) {
	root := newRoot()
	root.InitDefaultHelpFlag()
	has := func(c *cobra.Command, flag string) bool {
		c.InitDefaultHelpFlag()
		return c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil || root.PersistentFlags().Lookup(flag) != nil
	}
	found := 0
	check := func(of string, own []*cobra.Command, text string) {
		for _, m := range flagInText.FindAllStringSubmatch(text, -1) {
			found++
			at := own
			if c, _, err := root.Find([]string{m[1]}); m[1] != "" && err == nil && c != root {
				at = []*cobra.Command{c}
			}
			if !slices.ContainsFunc(at, func(c *cobra.Command) bool { return has(c, m[2]) }) {
				t.Errorf("%s: %s is no flag there", of, m[0])
			}
		}
	}
	run := func(line string) []*cobra.Command {
		_, line, _ = strings.Cut(line, "varve ")
		c, _, err := root.Find(shellWords(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return []*cobra.Command{c}
	}
	examples := func(of, text string) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "varve ") && !strings.Contains(line, "<(") {
				check(of, run(strings.TrimSpace(line)), line)
			}
		}
	}
	for _, c := range append(root.Commands(), root) {
		check(c.Name(), []*cobra.Command{c}, c.Long+c.Use)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { check(c.Name(), []*cobra.Command{c}, f.Usage) })
		examples(c.Name(), c.Example)
	}
	for _, topic := range manual.Topics() {
		check(topic.Name, root.Commands(), topic.Text)
		examples(topic.Name, topic.Examples)
	}
	if found < 100 {
		t.Errorf("%d flags were found, more are named", found)
	}
}
