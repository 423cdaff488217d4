// Package schema is a schema of ent. make recipes generates its client, and runs it.
package schema

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"

	"github.com/uidring/uidring"
)

// An Order is an entity of ent.
type Order struct{ ent.Schema }

// Fields has a key that the database does not count up, and a reference that may be NULL.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(uidring.ID(0)).Annotations(entsql.Annotation{Incremental: new(false)}),
		field.Int64("replaces").GoType(uidring.ID(0)).Optional().Nillable(),
	}
}

// AssignIDs has ent give an ID to each new row without one.
func AssignIDs(next func(context.Context) (uidring.ID, error)) ent.Hook {
	return func(mutator ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			row, ok := m.(interface {
				ID() (uidring.ID, bool)
				SetID(uidring.ID)
			})
			if ok && m.Op().Is(ent.OpCreate) {
				if _, set := row.ID(); !set {
					id, err := next(ctx)
					if err != nil {
						return nil, err
					}
					row.SetID(id)
				}
			}
			return mutator.Mutate(ctx, m)
		})
	}
}
