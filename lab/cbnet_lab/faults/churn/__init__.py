"""The churn trial: clients with very many filters connect and vanish while a prober measures."""
