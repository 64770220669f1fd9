// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

// reservationFlags has the flags of reservations.
type reservationFlags struct {
	cancel, publish string
	yes, dry        bool
}

// NewReservations returns the command reservations.
func NewReservations() *cobra.Command {
	c := &cobra.Command{
		Use:   "reservations NODE",
		Short: "List the reservations of an array, or of the arrays below a group, and end one",
		Long: `List the reservations of an array, or of the arrays below a group, and end one.

A reservation is a region beyond the end of an array that several writers fill concurrently. While it exists, no other
writer can change the array. It remains even if its program has ended. Then publish it, if all its parts are written,
or cancel it, which deletes them.`,
		Example: `  varve reservations era5.zarr
  varve reservations era5.zarr/t2m --json`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	f := new(reservationFlags)
	flagtext.Var(c.Flags(), &f.cancel, "cancel", "", "cancel the reservation `ID`, and delete what was written to it", flagtext.Needed("the ID of a reservation"))
	flagtext.Var(c.Flags(), &f.publish, "publish", "", "publish what was written to the reservation `ID`; all of its chunks must be stored", flagtext.Needed("the ID of a reservation"))
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask before --cancel deletes data")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and print what would change")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flagtext.Exclusive(cmd, "cancel", "publish"); err != nil {
			return err
		}
		return reservations(cmd, args[0], f)
	}
	return c
}

// reserved is a reservation in the form of --json.
type reserved struct {
	Node    string     `json:"node"`
	ID      string     `json:"id"`
	Parts   int        `json:"parts"`
	Start   []int64    `json:"start"` // of the region
	Stop    []int64    `json:"stop"`
	Holder  string     `json:"holder"`
	Since   *time.Time `json:"since"` // null if it is unknown
	Outcome string     `json:"outcome,omitempty"`

	reservation *zarr.Reservation
}

func reservations(cmd *cobra.Command, location string, f *reservationFlags) error {
	id := f.cancel + f.publish
	opt := session.Reading(cmd)
	if id != "" {
		opt = session.Writing(cmd)
	}
	n, err := zarr.Open(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer n.Close()
	list, err := reservedIn(cmd, n, location)
	if err != nil {
		return err
	}
	if id != "" {
		if list, err = f.end(cmd, list); err != nil {
			return err
		}
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "dry_run": f.dry, "reservations": list})
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		for _, r := range list {
			fmt.Fprintf(w, "%s  %s\n", phrase.Printable(r.Node), r.text())
		}
		if len(list) == 0 {
			fmt.Fprintf(w, "%s  no reservations\n", phrase.Printable(location))
		}
		return nil
	})
}

// reservedIn returns the reservations of an array, or of the arrays below a group.
func reservedIn(cmd *cobra.Command, n zarr.Node, location string) ([]reserved, error) {
	list := []reserved{}
	add := func(a *zarr.Array, location string) error {
		r, err := a.Reservation(cmd.Context())
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			list = append(list, newReserved(r, location))
		}
		return err
	}
	switch n := n.(type) {
	case *zarr.Array:
		return list, add(n, location)
	case *zarr.Group:
		for m, err := range n.Members(cmd.Context(), true) {
			if a, ok := m.Node.(*zarr.Array); ok && err == nil {
				err = add(a, node.Clean(location)+"/"+m.Path)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

func newReserved(r *zarr.Reservation, node string) reserved {
	out := reserved{Node: node, ID: r.ID(), Parts: r.Parts(), Holder: r.Holder().String(), reservation: r}
	for i, in := range r.Region(0) {
		out.Start = append(out.Start, in.Start)
		// Parts lie one after another, so the last one ends the region.
		out.Stop = append(out.Stop, r.Region(r.Parts() - 1)[i].Stop)
	}
	if since := r.Holder().Since; !since.IsZero() {
		out.Since = &since
	}
	return out
}

func (r *reserved) text() string {
	age := ""
	if r.Since != nil {
		age = fmt.Sprintf(", %v ago", time.Since(*r.Since).Round(time.Second))
	}
	text := fmt.Sprintf("reservation %s: %s from %v to %v, made by %s%s", r.ID, phrase.Plural(int64(r.Parts), "part"), r.Start, r.Stop, r.Holder, age)
	if r.Outcome != "" {
		text += ": " + r.Outcome
	}
	return phrase.Printable(text)
}

// end ends the reservation of --cancel or --publish, and returns only that one.
func (f *reservationFlags) end(cmd *cobra.Command, list []reserved) ([]reserved, error) {
	id := f.cancel + f.publish
	for i := range list {
		r := &list[i]
		if r.ID != id {
			continue
		}
		return list[i : i+1], f.endOne(cmd, r)
	}
	return nil, failure.NotFound("there is no reservation %s; varve reservations NODE lists all", id)
}

func (f *reservationFlags) endOne(cmd *cobra.Command, r *reserved) error {
	if f.dry {
		r.Outcome = "nothing was changed"
		return nil
	}
	if f.publish != "" {
		r.Outcome = "published"
		return r.reservation.Publish(cmd.Context())
	}
	if !f.yes {
		if !console.IsTerminal(cmd.InOrStdin()) {
			return failure.BadUsage("this deletes what was written to reservation %s: give --yes", r.ID)
		}
		yes, err := place.Ask(cmd, fmt.Sprintf("Delete what was written to reservation %s of %s?", r.ID, r.Node))
		if err != nil {
			return err
		}
		if !yes {
			return failure.BadArgument("nothing was deleted")
		}
	}
	r.Outcome = "cancelled"
	return r.reservation.Cancel(cmd.Context())
}
