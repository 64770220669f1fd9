// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/store"
)

// lockFlag is the flag that bounds the wait for a lock.
const lockFlag = "lock-timeout"

// lockVar defines --lock-timeout.
func lockVar(f *pflag.FlagSet) {
	f.Var(new(patience), lockFlag, "wait at most `DURATION`, such as 30s, for a lock of another writer; 0 does not wait (default: no limit)")
}

// patience is the value of a flag for a duration to wait.
type patience struct {
	given bool
	limit time.Duration
}

func (p *patience) Set(text string) error {
	d, err := flagtext.ParseDuration(text)
	if err == nil {
		*p = patience{true, d}
	}
	return err
}

func (p *patience) Type() string { return "duration" }

// String returns "" for the zero value, on which pflag calls it.
func (p *patience) String() string {
	if !p.given {
		return ""
	}
	return phrase.Duration(p.limit)
}

// awaitLocks makes a command report the lock that it waits for, and give up after
// --lock-timeout. With --json it reports nothing, because programs read standard error as
// JSON.
func awaitLocks(cmd *cobra.Command) {
	how := store.Locking{Operation: "varve " + cmd.Name()}
	if p, ok := cmd.Flag(lockFlag).Value.(*patience); ok && p.given {
		how.Timeout = p.limit
		if p.limit == 0 {
			// The library takes 0 for no limit.
			how.Timeout = -1
		}
	}
	if !WantsJSON(cmd) {
		w := cmd.ErrOrStderr()
		how.Waiting = func(wait store.LockWait) {
			name := wait.Name
			if name == "" {
				name = "the store"
			}
			// A report that cannot be written is no reason to stop waiting.
			_, _ = fmt.Fprintf(w, "varve: waiting for the lock of %s, held by %s; Ctrl-C gives up\n", phrase.Printable(name), phrase.Printable(wait.Holder.String()))
		}
	}
	cmd.SetContext(store.WithLocking(cmd.Context(), how))
}
