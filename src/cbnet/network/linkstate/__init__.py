"""Link-state routing: records, flooding, resynchronisation, and the view of the topology."""
