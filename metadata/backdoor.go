// SPDX-License-Identifier: Apache-2.0

package metadata

import "varve.dev/zarr/internal/backdoor"

func init() {
	backdoor.Set("metadata.RecordV2", recordV2)
	backdoor.Set("metadata.Record", record)
	backdoor.Set("metadata.MarshalAttributesV2", marshalAttributesV2)
	backdoor.Set("metadata.ParseAttributesV2", parseAttributesV2)
	backdoor.Set("metadata.CheckPath", checkUsable)
	backdoor.Set("metadata.ParseChunkGrid", parseChunkGrid)
	backdoor.Set("metadata.WithoutChunkShapes", withoutChunkShapes)
	backdoor.Set("metadata.Misread", (*Array).misread)
	backdoor.Set("metadata.Recut", (*Array).recut)
	backdoor.Set("metadata.NewConsolidatedV2", newConsolidatedV2)
	backdoor.Set("metadata.Below", (*Consolidated).below)
	backdoor.Set("metadata.Raw", (*Consolidated).raw)
	backdoor.Set("metadata.With", (*Consolidated).with)
	backdoor.Set("metadata.WithAll", (*Consolidated).withAll)
	backdoor.Set("metadata.WithOwn", (*Consolidated).withOwn)
	backdoor.Set("metadata.Without", (*Consolidated).without)
	backdoor.Set("metadata.MarshalConsolidated", (*Consolidated).marshal)
}
