// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestPassages(t *testing.T) {
	text := `One paragraph
of two lines.

A list:
  term       meaning, which
             continues
  alone

    $ literal
      text
After.`
	want := []passage{
		{kind: paragraph, text: "One paragraph of two lines."},
		{kind: paragraph, text: "A list:", isSeparate: true},
		{kind: entry, term: "term", text: "meaning, which continues", column: 13},
		{kind: entry, text: "alone"},
		{kind: literal, text: "$ literal\n  text", isSeparate: true},
		{kind: paragraph, text: "After."},
	}
	if got := passages(text); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestWrap(t *testing.T) {
	text := "one two three four\nfive\n\nsix:\n  a   seven eight nine\n      ten\n  bb  eleven\n\n    as it stands, however long\ntwelve"
	want := `one two three
four five

six:
  a   seven
      eight
      nine ten
  bb  eleven

    as it stands, however long
twelve`
	if got := Wrap(text, 15); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEscapes(t *testing.T) {
	for text, want := range map[string]string{
		".begins\n'too": "\\&.begins\n\\&'too",
		`a-b\c "d"`:     `a\-b\ec \(dqd\(dq`,
		"36 × 72":       `36 \[u00D7] 72`,
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := cell("a|b _c_ <d>"); got != `a\|b \_c\_ \<d>` {
		t.Error(got)
	}
	if got := anchor("Chunks and shards: how"); got != "chunks-and-shards-how" {
		t.Error(got)
	}
}

func TestPages(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "Do things", Long: "Do things.", Example: "  tool run"}
	run := &cobra.Command{Use: "run [FILE], run -- ARGS", Short: "Run", Example: "  tool run x", Run: func(*cobra.Command, []string) {}}
	run.Flags().StringP("output", "o", "-", "the `FILE` to write")
	root.AddCommand(run)
	p := &Program{Root: root, Version: "v1.2.3", Topics: []Topic{{Name: "words", Title: "Words: what they mean", Text: "  word  a word"}}}
	pages := p.Pages()
	if len(pages) != 3 || pages[1].Name != "tool-run" || pages[2].File() != "man7/tool-words.7" {
		t.Fatalf("%+v", pages)
	}
	for _, want := range []string{
		`.TH "TOOL\-RUN" 1 "" "tool v1.2.3" "User Commands"`,
		"\\fBtool run\\fR [FILE]\n.br\n\\fBtool run\\fR \\-\\- ARGS\n",
		".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nthe FILE to write (default \\(dq\\-\\(dq)\n",
		".nf\ntool run x\n.fi",
	} {
		if !strings.Contains(pages[1].Text, want) {
			t.Errorf("the page has no %q:\n%s", want, pages[1].Text)
		}
	}
	for _, want := range []string{"| [run](#tool-run) | Run |", "## tool run\n\nRun.\n\n```text\ntool run [FILE]\ntool run -- ARGS\n```\n", "- `word`: a word\n"} {
		if got := p.Reference(); !strings.Contains(got, want) {
			t.Errorf("the reference has no %q:\n%s", want, got)
		}
	}
}
