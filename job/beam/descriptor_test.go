// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"varve.dev/zarr/internal/job"
)

// mostDescriptor bounds the bytes of a task that pass through an engine.
const mostDescriptor = 32

// TestDescriptors checks that the elements of a pipeline are small numbers, apart from
// the one summary: no bytes of chunks pass through the engine.
func TestDescriptors(t *testing.T) {
	encoder := beam.NewElementEncoder(reflect.TypeFor[int64]())
	var b bytes.Buffer
	if err := encoder.Encode(int64(job.MostTasks), &b); err != nil || b.Len() > mostDescriptor {
		t.Errorf("a task has %d bytes (%v)", b.Len(), err)
	}
	p := newPlace(t)
	p.array(t, "a", rows)
	pipe, s := beam.NewPipelineWithRoot()
	Execute(s, p.plan(t, rechunked("a")), Options{})
	edges, _, err := pipe.Build()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]int{}
	for _, e := range edges {
		for _, out := range e.Output {
			types[fmt.Sprint(out.To.Type())]++
		}
	}
	if types["string"] != 1 {
		t.Errorf("%d collections of strings", types["string"])
	}
	for x := range types {
		if !numbers[x] && x != "string" && x != "[]uint8" {
			t.Errorf("a collection has elements of type %s", x)
		}
	}
}

// numbers are the types of collections of tasks, and of their sums.
var numbers = map[string]bool{"int64": true, "KV<int,int64>": true, "CoGBK<int,int64>": true}

// TestSpecs checks that DoFns keep what they execute when they are sent to workers.
func TestSpecs(t *testing.T) {
	f := taskFn{Spec: newSpec("s3://b/p.json", "x", Options{Attempts: 7, Patience: 8, Result: "r", Ended: true, Exact: true}), Stage: 2, Of: 9}
	var again taskFn
	raw, err := json.Marshal(f)
	if err == nil {
		err = json.Unmarshal(raw, &again)
	}
	if err != nil || again != f {
		t.Errorf("%+v becomes %+v (%v)", f, again, err)
	}
}
