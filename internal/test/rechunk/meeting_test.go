// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// measured are the arrays of the group g in the tests of meetings: the coordinate, and
// what was measured then. At the time t the value is 1000 more.
var measured = []string{"g/time", "g/v"}

// measuring stores the arrays, of the times 100 to 123.
func measuring(t *testing.T) stepping.ObjectStore {
	t.Helper()
	s := inMemory()
	_, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
	for i, name := range measured {
		spec := fixture.Edges(2, 3, 3, 5, 4, 7)
		spec.DimensionNames = []string{"time"}
		var a *zarr.Array
		if err == nil {
			a, err = zarr.At(s, name).CreateArray(t.Context(), spec, nil)
		}
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, fixture.Numbers(100+1000*int32(i), 24))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openMeasured opens the arrays for writing. Another program has names of its own.
func openMeasured(ctx context.Context, s store.Store) (list []*zarr.Array, err error) {
	for _, name := range measured {
		if other, is := s.(*named); is {
			name = other.name + "/" + name
		}
		a, err := zarr.At(s, name).OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// moveBoth moves planes of both arrays in one transaction.
func moveBoth(ctx context.Context, s store.Store, request func(i int) rechunk.Request) error {
	list, err := openMeasured(ctx, s)
	if err != nil {
		return err
	}
	var parts []rechunk.Part
	for i, a := range list {
		parts = append(parts, rechunk.Part{Array: a, Request: request(i)})
	}
	_, err = rechunk.DoAll(ctx, parts, nil)
	return err
}

func dropBoth(ctx context.Context, s store.Store) error {
	return moveBoth(ctx, s, func(int) rechunk.Request { return rechunk.Removal{Range: grid.Interval{Stop: 3}} })
}

// insertBoth inserts the times 97 to 99.
func insertBoth(ctx context.Context, s store.Store) error {
	return moveBoth(ctx, s, func(i int) rechunk.Request {
		return rechunk.Insertion{From: given([]int64{3}, fixture.Numbers(97+1000*int32(i), 3))}
	})
}

// appendBoth appends as many later times as were dropped, so that the shape is the same.
func appendBoth(ctx context.Context, s store.Store) error {
	list, err := openMeasured(ctx, s)
	for _, a := range list {
		last := a.Shape()[0] - 1
		b, readErr := zarr.Read[int32](ctx, a, grid.Box{{Start: last, Stop: last + 1}})
		if err = errors.Join(err, readErr); err == nil {
			err = zarr.Append(ctx, a, 0, fixture.Numbers(b.Data[0]+1, 3), nil)
		}
	}
	return err
}

func revertBoth(ctx context.Context, s store.Store) error {
	list, err := openMeasured(ctx, s)
	if err == nil {
		_, err = rechunk.RevertAll(ctx, list)
	}
	return err
}

// vacuumBoth deletes superseded grids at once.
func vacuumBoth(ctx context.Context, s store.Store) error {
	list, err := openMeasured(ctx, s)
	for _, a := range list {
		if err == nil {
			_, err = rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		}
	}
	return err
}

// meddling changes the arrays as another program does.
type meddling = func(ctx context.Context, s store.Store) error

// inTurn makes several changes.
func inTurn(list ...meddling) meddling {
	return func(ctx context.Context, s store.Store) (err error) {
		for _, do := range list {
			if err == nil {
				err = do(ctx, s)
			}
		}
		return err
	}
}

// meddlings are what other programs do during a request. before is done in advance.
var meddlings = map[string]struct{ before, during meddling }{
	"drop":              {nil, dropBoth},
	"insert":            {nil, insertBoth},
	"revert":            {dropBoth, revertBoth},
	"revert, no writes": {nil, inTurn(dropBoth, revertBoth)},
	"a rolling window":  {nil, inTurn(dropBoth, appendBoth)},
	"drop and vacuum":   {nil, inTurn(dropBoth, vacuumBoth)},
	"insert and vacuum": {nil, inTurn(insertBoth, vacuumBoth)},
	// One axis has three ways to write keys, so the fourth grid has those of the first.
	"keys that come around": {nil, inTurn(dropBoth, appendBoth, vacuumBoth, dropBoth, appendBoth, vacuumBoth, dropBoth, appendBoth, vacuumBoth)},
}

// uses are what a program does with the arrays. If it succeeds, every value that it has
// read or written belongs to the time that it means.
var uses = map[string]func(t *testing.T, s, stored stepping.ObjectStore) error{
	"write by time":  func(t *testing.T, s, stored stepping.ObjectStore) error { return writeTimes(t, s, stored, true) },
	"write by index": func(t *testing.T, s, stored stepping.ObjectStore) error { return writeTimes(t, s, stored, false) },
	"fill by time":   fillTimes,
	"read by time":   readTimes,
	"pairs":          readPairs,
	"filter":         filterTimes,
	"drop by index":  dropTimes,
}

// openV opens the values.
func openV(t *testing.T, s store.Store) (*zarr.Array, error) {
	return zarr.At(s, "g/v").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
}

// threeTimes selects three elements by the values of the coordinate.
const threeTimes = "time=115.0..117.0"

// writeTimes writes the times 115 to 117, 7000 more than they are.
func writeTimes(t *testing.T, s, stored stepping.ObjectStore, byTime bool) error {
	v, err := openV(t, s)
	if err != nil {
		return err
	}
	first, text := int32(115), threeTimes
	if !byTime {
		// Index 15 means the element that it had when the array was opened, which its
		// first value tells: the document has not been looked at since.
		b, err := zarr.Read[int32](t.Context(), v, grid.Box{{Start: 15, Stop: 16}})
		if err != nil {
			return err
		}
		first, text = b.Data[0]-1000, "15:18"
	}
	view, err := cf.Select(t.Context(), v, text)
	if err != nil {
		return err
	}
	err = zarr.Write(t.Context(), view, nil, fixture.Numbers(first+7000, 3))
	return errors.Join(err, isStored(t, stored, err == nil, first))
}

func fillTimes(t *testing.T, s, stored stepping.ObjectStore) error {
	v, err := openV(t, s)
	if err != nil {
		return err
	}
	view, err := cf.Select(t.Context(), v, "time=115.0")
	if err == nil {
		err = zarr.Fill(t.Context(), view, nil, int32(7115))
	}
	return err
}

// isStored returns an error if values that were stored for three times are not all there.
func isStored(t *testing.T, s store.Store, done bool, first int32) error {
	if n := len(slices.DeleteFunc(values(t, s, "g/v"), func(v int32) bool { return v < first+7000 || v > first+7002 })); done && n != 3 {
		return errors.New("broken: values are nowhere")
	}
	return nil
}

func readTimes(t *testing.T, s, stored stepping.ObjectStore) error {
	v, err := openV(t, s)
	if err != nil {
		return err
	}
	view, err := cf.Select(t.Context(), v, threeTimes)
	if err != nil {
		return err
	}
	got, err := zarr.Read[int32](t.Context(), view, nil)
	if err == nil && !slices.Equal(got.Data, fixture.Numbers(1115, 3)) {
		t.Errorf("read %v", got.Data)
	}
	return err
}

// readPairs reads values with their times, as a table has them.
func readPairs(t *testing.T, s, stored stepping.ObjectStore) error {
	v, err := openV(t, s)
	if err != nil {
		return err
	}
	got, err := zarr.Read[int32](t.Context(), v, nil)
	if err != nil {
		return err
	}
	c, err := cf.Coordinate(t.Context(), v, "time")
	if err != nil {
		return err
	}
	times, err := zarr.Read[int32](t.Context(), c, nil)
	if err == nil {
		err = belong(times.Data, got.Data)
	}
	return err
}

// belong returns an error unless values belong to times.
func belong(times, values []int32) error {
	for i := range values {
		if is := values[i] - times[i]; len(times) != len(values) || is != 1000 && is != 7000 {
			return errors.New("broken: a value is at another time")
		}
	}
	return nil
}

func filterTimes(t *testing.T, s, stored stepping.ObjectStore) error {
	where, err := filter.Parse("time >= 115")
	if err != nil {
		return err
	}
	to := memstore.New()
	if _, err := filter.Do(t.Context(), zarr.At(s, "g"), zarr.At(to, "g"), filter.Request{Where: where}, nil); err != nil {
		return err
	}
	times := values(t, to, "g/time")
	if slices.Min(times) != 115 {
		t.Errorf("kept %v", times)
	}
	return belong(times, values(t, to, "g/v"))
}

// dropTimes drops the times 115 and 116, whose indices it finds first.
func dropTimes(t *testing.T, s, stored stepping.ObjectStore) error {
	list, err := openMeasured(t.Context(), s)
	if err != nil {
		return err
	}
	view, err := cf.Select(t.Context(), list[1], "time=115.0..116.0")
	if err != nil {
		return err
	}
	in := view.Selection().Bounds()[0]
	var parts []rechunk.Part
	for _, a := range list {
		parts = append(parts, rechunk.Part{Array: a, Request: rechunk.Removal{Range: in}})
	}
	if _, err := rechunk.DoAll(t.Context(), parts, nil); err != nil {
		return err
	}
	is := values(t, stored, "g/time")
	if slices.Contains(is, 115) || slices.Contains(is, 116) || !slices.Contains(is, 114) || !slices.Contains(is, 117) {
		t.Errorf("%v are left", is)
	}
	return nil
}

// TestMeetings lets other programs move the elements of a coordinate and of its values
// before every request of a program that has found elements, or is about to. What it
// reads and writes belongs to the times that it means, or it gets a conflict.
func TestMeetings(t *testing.T) {
	for use, do := range uses {
		for name, m := range meddlings {
			t.Run(use+"/"+name, func(t *testing.T) {
				met := 0
				for at := 0; meet(t, do, m.before, m.during, at); at++ {
					met++
				}
				if met < 4 {
					t.Errorf("%d requests", met)
				}
			})
		}
	}
}

// meet makes a change before a request of a use. It reports whether there was one.
func meet(t *testing.T, do func(t *testing.T, s, stored stepping.ObjectStore) error, before, during meddling, at int) (met bool) {
	inner := measuring(t)
	if before != nil {
		if err := before(t.Context(), inner); err != nil {
			t.Fatal(err)
		}
	}
	n, what := 0, ""
	var turn sync.Mutex // some requests are made at once
	s := stepping.Conditional(inner, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		turn.Lock()
		defer turn.Unlock()
		if n++; n != at+1 {
			return nil
		}
		met, what = true, op.String()
		if err := during(context.WithoutCancel(ctx), &named{inner, "other"}); err != nil && !isConflict(err) {
			t.Errorf("another program before %s: %v", op, err)
		}
		return nil
	}})
	err := do(t, &handle{s}, inner)
	if err != nil && !isConflict(err) {
		t.Errorf("before request %d, %s: %v", at, what, err)
	}
	if err := belong(values(t, inner, "g/time"), values(t, inner, "g/v")); err != nil {
		t.Errorf("before request %d, %s: times %v, values %v", at, what, values(t, inner, "g/time"), values(t, inner, "g/v"))
	}
	return met && !t.Failed()
}

// isConflict reports whether an error is a right answer to a change by another program. A
// table whose arrays are of two moments has different lengths.
func isConflict(err error) bool {
	if strings.Contains(err.Error(), "broken") {
		return false
	}
	if strings.Contains(err.Error(), "if they are growing, filter again") {
		return true
	}
	return errors.Is(err, zarr.ErrConflict) || errors.Is(err, zarr.ErrSourceChanged) || errors.Is(err, rechunk.ErrNoRevert)
}
