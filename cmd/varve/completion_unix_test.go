// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// completed is a bash script. It completes the last word of a command line and prints the
// proposals. The function varve replaces the command, and _init_completion the function
// of the package bash-completion.
const completed = `
varve() {
	local word words
	for word; do words="$words${words:+,}\"$word\""; done
	VARVE_TEST_COMMAND="[$words]" "$TEST_PROGRAM" -test.run='^TestCommandItself$'
}
_init_completion() {
	words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
	cur=${words[cword]} prev=${words[cword-1]}
}
compopt() { :; }
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
__start_varve
printf '%s\n' "${COMPREPLY[@]}"
`

// TestCompletionInBash completes command lines in a shell, by the script that the command
// prints.
func TestCompletionInBash(t *testing.T) {
	racing.Skip(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	script := filepath.Join(t.TempDir(), "varve.bash")
	overwrite(t, script, must(t, "", "completion", "bash"))
	group := fixture(t, "group_consolidated.zarr")
	for line, want := range map[string]string{
		"varve app":                      "append",
		"varve help sel":                 "select",
		"varve create a.zarr --chunk-k":  "--chunk-key-encoding",
		"varve append a.zarr --grow rep": "repeat-last",
		"varve info " + group + "/o":     group + "/one",
	} {
		c := exec.CommandContext(t.Context(), bash, append([]string{"-c", completed, "bash", script}, strings.Fields(line)...)...)
		c.Env = append(os.Environ(), "TEST_PROGRAM="+os.Args[0])
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", line, got, err, want)
		}
	}
}

// TestCompletionScripts checks that every shell has a script and help of its own.
func TestCompletionScripts(t *testing.T) {
	for shell, mark := range map[string]string{
		"bash": "complete -o default", "zsh": "#compdef varve", "fish": "complete -c varve", "powershell": "Register-ArgumentCompleter",
	} {
		if out := must(t, "", "completion", shell); !strings.Contains(out, mark) {
			t.Errorf("the script of %s has no %q", shell, mark)
		}
		if out := must(t, "", "help", "completion", shell); !strings.Contains(out, "varve completion "+shell+" ") {
			t.Errorf("the help of %s does not say how to load the script", shell)
		}
	}
}
