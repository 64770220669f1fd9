// SPDX-License-Identifier: Apache-2.0

package place

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// Confirm asks at a terminal before data is deleted or replaced. It returns an error for
// any answer but yes, and if there is no terminal. In a dry run it does not ask.
func Confirm(cmd *cobra.Command, what string) error {
	switch {
	case session.IsDryRun(cmd):
		return nil
	case !console.IsTerminal(cmd.InOrStdin()):
		return failure.BadUsage("this %s: give --yes, or --dry-run to see what would change", what)
	}
	yes, err := Ask(cmd, fmt.Sprintf("This %s. Continue?", what))
	if err == nil && !yes {
		err = failure.BadArgument("nothing was changed")
	}
	return err
}

// Ask prints a question and reports whether the answer is yes. It fails if a signal
// ends the command first.
func Ask(cmd *cobra.Command, question string) (bool, error) {
	cmd.PrintErrf("%s [y/N] ", phrase.Printable(question))
	answer, err := bufio.NewReader(localfile.Patient(cmd.Context(), cmd.InOrStdin())).ReadString('\n')
	if err != nil {
		cmd.PrintErrln() // end the line of the question
		return false, cmd.Context().Err()
	}
	console.Of(cmd.ErrOrStderr()).Answered()
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
