package segment

import (
	"context"

	"github.com/uidring/uidring"
)

// NextID is [Generator.Next] for an ID of type [uidring.ID], which has text forms.
func (g *Generator) NextID() (uidring.ID, error) {
	id, err := g.Next()
	return uidring.ID(id), err
}

// NextIDContext is [Generator.NextContext] for an ID of type [uidring.ID].
func (g *Generator) NextIDContext(ctx context.Context) (uidring.ID, error) {
	id, err := g.NextContext(ctx)
	return uidring.ID(id), err
}
